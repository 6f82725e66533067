// Attention on an input with dropped coordinates. A projection of such an input is still a sum of table rows, minus the
// few dropped coordinates times their weight rows:
//     W (keep * (e + p)) = W e + W p - sum over dropped i of (e + p)_i W_i,
// times the scale of what is kept. So queries, keys and values (through the output matrix) of a tile of sequences are
// formed block by block of COLUMNS columns, from one table that holds token rows, position rows and weight rows:
//     project [block, row, COLUMNS]   rows: tokens, positions, coordinates
// with the blocks of queries first, then those of keys, then those of values, all heads of a block together.
// Rows of a tile are counted n * keys_pitch + position.

// What one tile needs. A row's entries run from `begin` to `end`; a coordinate's list has `capacity` places.
struct DroppedTile {
    long rows, capacity, pitch, keep_size;
    Scratch<uint16_t> keep;
    Scratch<float> input;                              // [sequence * query, writes]: what the residual connection carries
    Scratch<int32_t> begin, end, coordinates;          // the dropped coordinates of each row,
    Scratch<float> values_of_row;                      //   and what would have stood there
    Scratch<int32_t> listed, query_count, row_count;   // the rows in which a coordinate is dropped, queries' rows first,
    Scratch<float> values_of_coordinate, slopes;       //   what would have stood there, and its gradient, in LANES parts
    Scratch<float> queries, keys, query_grads, key_grads, values, logit_grads;

    DroppedTile(const Model& m, bool used)
        : rows(used ? (long)m.tile * m.keys_pitch : 0),
          capacity(rows),
          pitch(m.score_blocks * COLUMNS + 16),
          keep_size((long)m.positions * m.writes + 64),
          keep(used ? m.tile * keep_size : 0),
          input(used ? (long)m.tile * m.queries * m.writes_pitch : 0),
          begin(rows),
          end(rows),
          coordinates(rows * m.writes, NOTHING),
          values_of_row(rows * m.writes, NOTHING),
          listed(rows * m.writes, NOTHING),
          query_count(m.writes),
          row_count(m.writes),
          values_of_coordinate(rows * m.writes, NOTHING),
          slopes(rows * m.writes * LANES, NOTHING),
          queries(rows * pitch),
          keys(rows * pitch),
          query_grads(rows * pitch),
          key_grads(rows * pitch),
          values(rows * m.value_blocks * m.heads * COLUMNS),
          logit_grads(used ? m.tile * weight_at(m, m.heads, 0) : 0) {}

    // Values lie [block, head, row, COLUMNS].
    float* value(const Model& m, int block, int head) { return values.data + (block * m.heads + head) * rows * COLUMNS; }
};

// Which coordinates of which rows are dropped, and the input that is left for the residual connection.
static void list_dropped(const Model& m, const Batch& batch, long start, int count, DroppedTile& t) {
    const int first = m.positions - m.queries;
    const Floats scale = splat<Floats>(m.drops[EMBEDDING].scale);
    std::memset(t.row_count.data, 0, sizeof(int32_t) * m.writes);
    for (int n = 0; n < count; n++)
        draw_keep(batch.key(EMBEDDING, start + n), m.positions * m.writes, m.drops[EMBEDDING].threshold,
                  t.keep.data + n * t.keep_size);
    int entries = 0;
    for (int s = m.positions - 1; s >= 0; s--) {  // from the last: the rows of queries head every coordinate's list
        if (s == first - 1) std::memcpy(t.query_count.data, t.row_count.data, sizeof(int32_t) * m.writes);
        for (int n = 0; n < count; n++) {
            const int row = n * m.keys_pitch + s;
            const uint16_t* bits = t.keep.data + n * t.keep_size + (long)s * m.writes;
            const float* token = m.stream + batch.tokens[(start + n) * m.positions + s] * m.writes_pitch;
            const float* position = m.stream + (long)(m.dictionary + s) * m.writes_pitch;
            t.begin.data[row] = entries;
            for (int i = 0; i < m.writes; i += 4) {
                uint64_t dropped;
                std::memcpy(&dropped, bits + i, 8);
                dropped = ~dropped;
                if (m.writes - i < 4) dropped &= (1ull << (16 * (m.writes - i))) - 1;
                while (dropped) {
                    const int lane = __builtin_ctzll(dropped) / 16;
                    dropped &= ~(0xFFFFull << (16 * lane));
                    const int c = i + lane;
                    const float x = token[c] + position[c];
                    t.coordinates.data[entries] = c;
                    t.values_of_row.data[entries++] = x;
                    const long at = c * t.capacity + t.row_count.data[c]++;
                    t.listed.data[at] = row;
                    t.values_of_coordinate.data[at] = x;
                    store(t.slopes.data + at * LANES, Floats{});
                }
            }
            t.end.data[row] = entries;
            if (s < first) continue;
            float* out = t.input.data + ((long)n * m.queries + s - first) * m.writes_pitch;
            for (int c = 0; c < m.writes; c += LANES) {
                const Floats x = load<Floats>(token + c) + load<Floats>(position + c);
                store(out + c, masked(x * scale, widen(bits + c)));
            }
        }
    }
    if (first == 0) std::memcpy(t.query_count.data, t.row_count.data, sizeof(int32_t) * m.writes);
}

constexpr int VECTORS = COLUMNS / LANES;

// One block of columns of the projected rows, from position `first` on, times `scale`.
static void project_forward(const Model& m, const Batch& batch, long start, int count, int block, int first,
                            float scale, const DroppedTile& t, float* out, long pitch) {
    const float* table = m.project + block * m.project_rows * COLUMNS;
    const float* weight = table + (long)m.rows * COLUMNS;
    for (int n = 0; n < count; n++)
        for (int s = first; s < m.positions; s++) {
            const long row = (long)n * m.keys_pitch + s;
            const float* token = table + batch.tokens[(start + n) * m.positions + s] * COLUMNS;
            const float* position = table + (long)(m.dictionary + s) * COLUMNS;
            Floats acc[VECTORS];
            UNROLL
            for (int v = 0; v < VECTORS; v++)
                acc[v] = load<Floats>(token + v * LANES) + load<Floats>(position + v * LANES);
            for (int e = t.begin.data[row]; e < t.end.data[row]; e++) {
                const Floats x = splat<Floats>(t.values_of_row.data[e]);
                const float* w = weight + (long)t.coordinates.data[e] * COLUMNS;
                UNROLL
                for (int v = 0; v < VECTORS; v++) acc[v] -= x * load<Floats>(w + v * LANES);
            }
            UNROLL
            for (int v = 0; v < VECTORS; v++) store(out + row * pitch + v * LANES, acc[v] * scale);
        }
}

// Its gradient: to the table's rows, to the weight rows, and to the dropped inputs themselves. The last is what the
// tables' gradient will give to coordinates that were not there; `return_slopes` takes it back.
static void project_backward(const Model& m, const Batch& batch, long start, int count, int block, int first,
                             float scale, DroppedTile& t, const float* grads, long pitch, float* project_grad) {
    const float* weight = m.project + (block * m.project_rows + m.rows) * COLUMNS;
    float* table = project_grad + block * m.project_rows * COLUMNS;
    float* weight_grad = table + (long)m.rows * COLUMNS;
    for (int n = 0; n < count; n++)
        for (int s = first; s < m.positions; s++) {
            const float* grad = grads + ((long)n * m.keys_pitch + s) * pitch;
            float* token = table + batch.tokens[(start + n) * m.positions + s] * COLUMNS;
            float* position = table + (long)(m.dictionary + s) * COLUMNS;
            UNROLL
            for (int v = 0; v < VECTORS; v++) {
                const Floats g = load<Floats>(grad + v * LANES) * scale;
                store(token + v * LANES, load<Floats>(token + v * LANES) + g);
                store(position + v * LANES, load<Floats>(position + v * LANES) + g);
            }
        }
    const int32_t* counts = first > 0 ? t.query_count.data : t.row_count.data;
    for (int c = 0; c < m.writes; c++) {
        Floats sum[VECTORS] = {}, w[VECTORS];
        UNROLL
        for (int v = 0; v < VECTORS; v++) w[v] = load<Floats>(weight + (long)c * COLUMNS + v * LANES) * scale;
        const int32_t* listed = t.listed.data + c * t.capacity;
        const float* values = t.values_of_coordinate.data + c * t.capacity;
        float* slopes = t.slopes.data + c * t.capacity * LANES;
        for (int e = 0; e < counts[c]; e++) {
            const float* grad = grads + listed[e] * pitch;
            const Floats x = splat<Floats>(values[e]);
            Floats slope = load<Floats>(slopes + e * LANES);
            UNROLL
            for (int v = 0; v < VECTORS; v++) {
                const Floats g = load<Floats>(grad + v * LANES);
                sum[v] += x * g;
                slope += w[v] * g;
            }
            store(slopes + e * LANES, slope);
        }
        UNROLL
        for (int v = 0; v < VECTORS; v++) {
            float* at = weight_grad + (long)c * COLUMNS + v * LANES;
            store(at, load<Floats>(at) - sum[v] * scale);
        }
    }
}

static void return_slopes(const Model& m, const Batch& batch, long start, const DroppedTile& t, float* stream_grad) {
    for (int c = 0; c < m.writes; c++)
        for (int e = 0; e < t.row_count.data[c]; e++) {
            const int row = t.listed.data[c * t.capacity + e], n = row / m.keys_pitch, s = row % m.keys_pitch;
            const float slope = total(load<Floats>(t.slopes.data + (c * t.capacity + e) * LANES));
            stream_grad[batch.tokens[(start + n) * m.positions + s] * m.writes_pitch + c] -= slope;
            stream_grad[(long)(m.dictionary + s) * m.writes_pitch + c] -= slope;
        }
}

// weights: [sequence, head, key, query], drops as signs; out: [sequence, query, writes].
static void dropped_forward(const Model& m, const Batch& batch, long start, int count, AttentionScratch& scratch,
                            DroppedTile& t, float* weights, float* out) {
    const int first = m.positions - m.queries;
    const float scale = m.drops[EMBEDDING].scale;
    list_dropped(m, batch, start, count, t);
    for (int b = 0; b < m.score_blocks; b++) {
        project_forward(m, batch, start, count, b, first, scale, t, t.queries.data + b * COLUMNS, t.pitch);
        project_forward(m, batch, start, count, m.score_blocks + b, 0, scale, t, t.keys.data + b * COLUMNS, t.pitch);
    }
    for (int b = 0; b < m.value_blocks; b++)
        for (int h = 0; h < m.heads; h++)
            project_forward(m, batch, start, count, 2 * m.score_blocks + b * m.heads + h, 0,
                            scale * m.drops[ATTENTION].scale, t, t.value(m, b, h), COLUMNS);
    for (int n = 0; n < count; n++) {
        const long row = (long)n * m.keys_pitch;
        float* here = weights + n * weight_at(m, m.heads, 0);
        for (int h = 0; h < m.heads; h++) {
            transpose(t.queries.data + (row + first) * t.pitch + h * m.head_size, t.pitch, m.queries, m.head_size,
                      m.queries_pitch, scratch.across.data);
            dot_keys(m, t.keys.data + row * t.pitch + h * m.head_size, t.pitch, scratch.across.data, m.head_size,
                     false, here + weight_at(m, h, 0));
        }
        for (int h = 0; h < m.heads; h++)
            for (int j = 0; j < m.positions; j++) {
                float* scores = here + weight_at(m, h, j);
                const float* lag = m.lag ? m.lag + weight_at(m, h, j) : nullptr;
                for (int q = first_query(m, j) / 8 * 8; q < last_query(m, j); q += 8) {
                    const Eight x = load<Eight>(scores + q);
                    store(scores + q, visible(m, j, q, lag ? x + load<Eight>(lag + q) : x));
                }
            }
        const float* mixing = finish_weights(m, batch.key(ATTENTION, start + n), scratch, nullptr, here);
        for (int b = 0; b < m.value_blocks; b++) {
            const int from = b * COLUMNS;
            const int columns = groups_of_eight(m.writes - from < COLUMNS ? m.writes - from : COLUMNS);
            mix_values(m, {0, m.heads}, mixing, t.value(m, b, 0) + row * COLUMNS, t.rows * COLUMNS, columns, false,
                       out + (long)n * m.queries * m.writes_pitch + from);
        }
    }
}

static void dropped_backward(const Model& m, const Batch& batch, long start, int count, AttentionScratch& scratch,
                             DroppedTile& t, const float* weights, const float* grads, const Gradients& to) {
    const int first = m.positions - m.queries;
    const float scale = m.drops[EMBEDDING].scale;
    const long weights_size = weight_at(m, m.heads, 0);
    for (int n = 0; n < count; n++) {
        const long row = (long)n * m.keys_pitch;
        const float* here = weights + n * weights_size;
        const float* mixing = mixing_weights(m, scratch, here);
        float* slopes = t.logit_grads.data + n * weights_size;
        for (int b = 0; b < m.value_blocks; b++) {
            const int from = b * COLUMNS, real = m.writes - from < COLUMNS ? m.writes - from : COLUMNS;
            const float* grad = grads + (long)n * m.queries * m.writes_pitch + from;
            transpose(grad, m.writes_pitch, m.queries, real, m.queries_pitch, scratch.across.data);
            for (int h = 0; h < m.heads; h++) {
                float* values = t.value(m, b, h) + row * COLUMNS;
                dot_keys(m, values, COLUMNS, scratch.across.data, real, b > 0, slopes + weight_at(m, h, 0));
                value_gradients(m, h, mixing, grad, groups_of_eight(real), values);
            }
        }
        softmax_gradients(m, here, slopes);
        for (int h = 0; h < m.heads; h++) {
            const int from = h * m.head_size, columns = groups_of_eight(m.head_size);
            const float* slope = slopes + weight_at(m, h, 0);
            for (int q = 0; q < m.queries; q += QUERY_ROWS) {
                const int end = q + QUERY_ROWS < m.queries ? q + QUERY_ROWS : m.queries;
                const int j0 = first_key(m, q), j1 = last_key(m, end - 1);
                product({slope + j0 * (long)m.queries_pitch + q, 0, m.queries_pitch, 1,
                         t.keys.data + (row + j0) * t.pitch + from, 0, t.pitch,
                         t.query_grads.data + (row + first + q) * t.pitch + from, t.pitch, 1, j1 - j0, false},
                        end - q, columns);
            }
            for (int j = 0; j < m.positions; j += QUERY_ROWS) {
                const int end = j + QUERY_ROWS < m.positions ? j + QUERY_ROWS : m.positions;
                const int q0 = first_query(m, j), q1 = last_query(m, end - 1);
                product({slope + j * (long)m.queries_pitch + q0, 0, 1, m.queries_pitch,
                         t.queries.data + (row + first + q0) * t.pitch + from, 0, t.pitch,
                         t.key_grads.data + (row + j) * t.pitch + from, t.pitch, 1, q1 - q0, false},
                        end - j, columns);
            }
            if (to.lag)
                for (int j = 0; j < m.positions; j++)
                    for (int q = first_query(m, j); q < last_query(m, j); q++)
                        to.lag[weight_at(m, h, j) + q] += slope[j * (long)m.queries_pitch + q];
        }
    }
    for (int b = 0; b < m.score_blocks; b++) {
        project_backward(m, batch, start, count, b, first, scale, t, t.query_grads.data + b * COLUMNS, t.pitch,
                         to.project);
        project_backward(m, batch, start, count, m.score_blocks + b, 0, scale, t, t.key_grads.data + b * COLUMNS,
                         t.pitch, to.project);
    }
    for (int b = 0; b < m.value_blocks; b++)
        for (int h = 0; h < m.heads; h++)
            project_backward(m, batch, start, count, 2 * m.score_blocks + b * m.heads + h, 0,
                             scale * m.drops[ATTENTION].scale, t, t.value(m, b, h), COLUMNS, to.project);
    return_slopes(m, batch, start, t, to.stream);
}
