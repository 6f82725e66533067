// Attention on an input with dropped coordinates. A projection of such an input is still a sum of table rows, minus the
// few dropped coordinates times their weight rows:
//     W (keep * (e + p)) = W e + W p - sum over dropped i of (e + p)_i W_i,
// times the scale of what is kept. So queries, keys and values (through the output matrix) of a tile of sequences are
// formed block by block of COLUMNS columns, from one table that holds token rows, position rows and weight rows:
//     project [block, row, COLUMNS]   rows: tokens, positions, coordinates
// with the blocks of queries first, then those of keys, then those of values, all heads of a block together.
// Rows of a tile are counted n * keys_pitch + position.

constexpr int PARTS = 4;  // numbers whose sum a slope is: one would cost more steps to reach, a whole vector more memory

INLINE Four in_parts(Floats v) {
    if (LANES > 8) v += turned<8>(v);
    Eight half = first_eight(v);
    if (LANES > 4) half += SHUFFLE_EIGHT(half, half, 4, 5, 6, 7, 0, 1, 2, 3);
    Four parts;
    __builtin_memcpy(&parts, &half, sizeof parts);
    return parts;
}

// What one tile needs. A row's entries run from `begin` to `end`; a coordinate's list has `capacity` places.
struct DroppedTile {
    long rows, capacity, pitch, keep_size;
    Scratch<uint16_t> keep;
    Scratch<float> input;                              // [sequence * query, writes]: what the residual connection carries
    Scratch<int32_t> token, position;                  // the row of the input's table that each row has for its token,
                                                       //   and for its position
    Scratch<int32_t> begin, end, coordinates;          // the dropped coordinates of each row,
    Scratch<float> values_of_row;                      //   and what would have stood there
    Scratch<int32_t> listed, query_count, row_count;   // the rows in which a coordinate is dropped, queries' rows first,
    Scratch<float> values_of_coordinate, slopes;       //   what would have stood there, and its gradient, in PARTS parts
    Scratch<float> queries, keys, query_grads, key_grads, values, logit_grads;

    DroppedTile(const Block& m, bool used)
        : rows(used ? (long)m.tile * m.keys_pitch : 0),
          capacity(rows),
          pitch(m.score_blocks * COLUMNS + 16),
          keep_size((long)m.positions * m.writes + 64),
          keep(used ? m.tile * keep_size : 0),
          input(used ? (long)m.tile * m.queries * m.writes_pitch : 0),
          token(rows),
          position(rows),
          begin(rows),
          end(rows),
          coordinates(rows * m.writes, NOTHING),
          values_of_row(rows * m.writes, NOTHING),
          listed(rows * m.writes, NOTHING),
          query_count(m.writes),
          row_count(m.writes),
          values_of_coordinate(rows * m.writes, NOTHING),
          slopes(rows * m.writes * PARTS, NOTHING),
          queries(rows * pitch),
          keys(rows * pitch),
          query_grads(rows * pitch),
          key_grads(rows * pitch),
          values(rows * m.value_blocks * m.heads * COLUMNS),
          logit_grads(used ? m.tile * weight_at(m, m.heads, 0) : 0) {}

    // Values lie [block, head, row, COLUMNS].
    float* value(const Block& m, int block, int head) { return values.data + (block * m.heads + head) * rows * COLUMNS; }
};

// Which coordinates of which rows are dropped, and the input that is left for the residual connection.
static void list_dropped(const Block& m, const Sequences& at, DroppedTile& t) {
    const int first = m.positions - m.queries;
    const Floats scale = splat<Floats>(m.drops[EMBEDDING].scale);
    std::memset(t.row_count.data, 0, sizeof(int32_t) * m.writes);
    for (int n = 0; n < at.count; n++)
        draw_keep(at.key(EMBEDDING, n), m.positions * m.writes, m.drops[EMBEDDING].threshold,
                  t.keep.data + n * t.keep_size);
    int entries = 0;
    for (int s = m.positions - 1; s >= 0; s--) {  // from the last: the rows of queries head every coordinate's list
        if (s == first - 1) std::memcpy(t.query_count.data, t.row_count.data, sizeof(int32_t) * m.writes);
        for (int n = 0; n < at.count; n++) {
            const int row = n * m.keys_pitch + s;
            const uint16_t* bits = t.keep.data + n * t.keep_size + (long)s * m.writes;
            const float* token = m.stream + at.tokens(m, n)[s] * m.writes_pitch;
            const float* position = m.stream + (long)(m.token_rows + s) * m.writes_pitch;
            t.token.data[row] = (int32_t)at.tokens(m, n)[s], t.position.data[row] = m.token_rows + s;
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
                    const long place = c * t.capacity + t.row_count.data[c]++;
                    t.listed.data[place] = row;
                    t.values_of_coordinate.data[place] = x;
                    store(t.slopes.data + place * PARTS, Four{});
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

// Which block of columns is projected, from which position on, and what it is multiplied by.
struct Projection {
    int block, first;
    float scale;
};

// One block of columns of the projected rows.
static void project_forward(const Block& m, const Sequences& at, Projection what, const DroppedTile& t, Into out) {
    const float* table = m.project + what.block * m.project_rows * COLUMNS;
    const float* weight = table + (long)m.rows * COLUMNS;
    for (int n = 0; n < at.count; n++)
        for (int s = what.first; s < m.positions; s++) {
            const long row = (long)n * m.keys_pitch + s;
            const float* token = table + at.tokens(m, n)[s] * COLUMNS;
            const float* position = table + (long)(m.token_rows + s) * COLUMNS;
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
            for (int v = 0; v < VECTORS; v++) store(out.data + row * out.pitch + v * LANES, acc[v] * what.scale);
        }
}

// Its gradient: to the table's rows, to the weight rows, and to the dropped inputs themselves. The last is what the
// tables' gradient will give to coordinates that were not there; `return_slopes` takes it back.
static void project_backward(const Block& m, const Sequences& at, Projection what, DroppedTile& t, Rows grads,
                             float* project_grad) {
    const float* weight = m.project + (what.block * m.project_rows + m.rows) * COLUMNS;
    float* table = project_grad + what.block * m.project_rows * COLUMNS;
    float* weight_grad = table + (long)m.rows * COLUMNS;
    for (int n = 0; n < at.count; n++)
        for (int s = what.first; s < m.positions; s++) {
            const float* grad = grads.data + ((long)n * m.keys_pitch + s) * grads.pitch;
            float* token = table + at.tokens(m, n)[s] * COLUMNS;
            float* position = table + (long)(m.token_rows + s) * COLUMNS;
            UNROLL
            for (int v = 0; v < VECTORS; v++) {
                const Floats g = load<Floats>(grad + v * LANES) * what.scale;
                store(token + v * LANES, load<Floats>(token + v * LANES) + g);
                store(position + v * LANES, load<Floats>(position + v * LANES) + g);
            }
        }
    const int32_t* counts = what.first > 0 ? t.query_count.data : t.row_count.data;
    for (int c = 0; c < m.writes; c++) {
        Floats sum[VECTORS] = {}, w[VECTORS];
        UNROLL
        for (int v = 0; v < VECTORS; v++) w[v] = load<Floats>(weight + (long)c * COLUMNS + v * LANES) * what.scale;
        const int32_t* listed = t.listed.data + c * t.capacity;
        const float* values = t.values_of_coordinate.data + c * t.capacity;
        float* slopes = t.slopes.data + c * t.capacity * PARTS;
        for (int e = 0; e < counts[c]; e++) {
            const float* grad = grads.data + listed[e] * grads.pitch;
            const Floats x = splat<Floats>(values[e]);
            Floats slope = {};
            UNROLL
            for (int v = 0; v < VECTORS; v++) {
                const Floats g = load<Floats>(grad + v * LANES);
                sum[v] += x * g;
                slope += w[v] * g;
            }
            add_to(slopes + e * PARTS, in_parts(slope));
        }
        UNROLL
        for (int v = 0; v < VECTORS; v++) {
            float* at = weight_grad + (long)c * COLUMNS + v * LANES;
            store(at, load<Floats>(at) - sum[v] * what.scale);
        }
    }
}

static void return_slopes(const Block& m, const DroppedTile& t, float* stream_grad) {
    for (int c = 0; c < m.writes; c++)
        for (int e = 0; e < t.row_count.data[c]; e++) {
            const int row = t.listed.data[c * t.capacity + e];
            const Four parts = load<Four>(t.slopes.data + (c * t.capacity + e) * PARTS);
            const float slope = (parts[0] + parts[2]) + (parts[1] + parts[3]);
            stream_grad[(long)t.token.data[row] * m.writes_pitch + c] -= slope;
            stream_grad[(long)t.position.data[row] * m.writes_pitch + c] -= slope;
        }
}

// Projections of values, block by block of columns and head by head.
INLINE Projection value_projection(const Block& m, int block, int head) {
    return {2 * m.score_blocks + block * m.heads + head, 0, m.drops[EMBEDDING].scale * m.drops[ATTENTION].scale};
}
INLINE int value_block_columns(const Block& m, int block) {
    return m.writes - block * COLUMNS < COLUMNS ? m.writes - block * COLUMNS : COLUMNS;
}

// weights: [sequence, head, key, query], drops as signs; out: [sequence, query, writes].
static void dropped_forward(const Block& m, const Sequences& at, AttentionScratch& scratch, DroppedTile& t,
                            float* weights, float* out) {
    const int first = m.positions - m.queries;
    const float scale = m.drops[EMBEDDING].scale;
    list_dropped(m, at, t);
    for (int b = 0; b < m.score_blocks; b++) {
        project_forward(m, at, {b, first, scale}, t, {t.queries.data + b * COLUMNS, t.pitch});
        project_forward(m, at, {m.score_blocks + b, 0, scale}, t, {t.keys.data + b * COLUMNS, t.pitch});
    }
    for (int b = 0; b < m.value_blocks; b++)
        for (int h = 0; h < m.heads; h++) project_forward(m, at, value_projection(m, b, h), t, {t.value(m, b, h), COLUMNS});
    for (int n = 0; n < at.count; n++) {
        const long row = (long)n * m.keys_pitch;
        float* here = weights + n * weight_at(m, m.heads, 0);
        for (int h = 0; h < m.heads; h++) {
            transpose(t.queries.data + (row + first) * t.pitch + h * m.head_size, t.pitch, m.queries, m.head_size,
                      m.queries_pitch, scratch.across.data);
            Dots d;
            d.rows = {t.keys.data + row * t.pitch + h * m.head_size, t.pitch}, d.across = scratch.across.data;
            d.columns = m.head_size, d.mode = REPLACE, d.out = here + weight_at(m, h, 0);
            dot_keys(m, d);
            finish_scores(m, h, here + weight_at(m, h, 0));
        }
        const float* mixing = finish_weights(m, at.key(ATTENTION, n), scratch, nullptr, here);
        for (int b = 0; b < m.value_blocks; b++) {
            Mixing mix;
            mix.heads = {0, m.heads}, mix.weights = mixing;
            mix.values = t.value(m, b, 0) + row * COLUMNS, mix.next_head = t.rows * COLUMNS;
            mix.columns = groups_of_eight(value_block_columns(m, b)), mix.mode = REPLACE;
            mix.out = out + (long)n * m.queries * m.writes_pitch + b * COLUMNS;
            mix_values(m, mix);
        }
    }
}

static void dropped_backward(const Block& m, const Sequences& at, AttentionScratch& scratch, DroppedTile& t,
                             const float* weights, const float* grads, const Gradients& to) {
    const int first = m.positions - m.queries;
    const float scale = m.drops[EMBEDDING].scale;
    const long weights_size = weight_at(m, m.heads, 0);
    for (int n = 0; n < at.count; n++) {
        const long row = (long)n * m.keys_pitch;
        const float* here = weights + n * weights_size;
        const float* mixing = mixing_weights(m, scratch, here);
        float* slopes = t.logit_grads.data + n * weights_size;
        for (int b = 0; b < m.value_blocks; b++) {
            const int real = value_block_columns(m, b);
            const float* grad = grads + (long)n * m.queries * m.writes_pitch + b * COLUMNS;
            transpose(grad, m.writes_pitch, m.queries, real, m.queries_pitch, scratch.across.data);
            for (int h = 0; h < m.heads; h++) {
                float* values = t.value(m, b, h) + row * COLUMNS;
                Dots d;
                d.rows = {values, COLUMNS}, d.across = scratch.across.data, d.columns = real;
                d.mode = b > 0 ? ADD : REPLACE, d.out = slopes + weight_at(m, h, 0);
                dot_keys(m, d);
                value_gradients(m, h, mixing, grad, groups_of_eight(real), values);
            }
        }
        softmax_gradients(m, here, slopes);
        for (int h = 0; h < m.heads; h++) {
            const long asked = (row + first) * t.pitch + h * m.head_size, all = row * t.pitch + h * m.head_size;
            LogitGradients io;
            io.slopes = slopes + weight_at(m, h, 0), io.lag_sum = to.lag ? to.lag + weight_at(m, h, 0) : nullptr;
            io.queries = {t.queries.data + asked, t.pitch}, io.keys = {t.keys.data + all, t.pitch};
            io.query_grads = {t.query_grads.data + asked, t.pitch}, io.key_grads = {t.key_grads.data + all, t.pitch};
            logit_gradients(m, io);
        }
    }
    for (int b = 0; b < m.score_blocks; b++) {
        project_backward(m, at, {b, first, scale}, t, {t.query_grads.data + b * COLUMNS, t.pitch}, to.project);
        project_backward(m, at, {m.score_blocks + b, 0, scale}, t, {t.key_grads.data + b * COLUMNS, t.pitch}, to.project);
    }
    for (int b = 0; b < m.value_blocks; b++)
        for (int h = 0; h < m.heads; h++)
            project_backward(m, at, value_projection(m, b, h), t, {t.value(m, b, h), COLUMNS}, to.project);
    return_slopes(m, t, to.stream);
}
