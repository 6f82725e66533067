// Attention of one sequence on tables, forward and backward. Weights are [head, key, query]: queries lie side by side,
// so that softmax runs down the keys without sums across lanes.

// Queries that see key j: [first, last).
INLINE int first_query(const Model& m, int j) {
    const int q = j - (m.positions - m.queries);
    return q > 0 ? q : 0;
}
INLINE int last_query(const Model& m, int j) {
    const int q = j + m.context - (m.positions - m.queries);
    return q < 0 ? 0 : q < m.queries ? q : m.queries;
}
// Keys that query q sees: [first, last).
INLINE int first_key(const Model& m, int q) {
    const int j = m.positions - m.queries + q - m.context + 1;
    return j > 0 ? j : 0;
}
INLINE int last_key(const Model& m, int q) { return m.positions - m.queries + q + 1; }
// Keys that some query of the group of eight from q on sees: [first_key(q), last_key_of_group(q)).
INLINE int last_key_of_group(const Model& m, int q) { return q + 8 < m.queries ? last_key(m, q + 7) : m.positions; }

INLINE long weight_at(const Model& m, int head, int key) {
    return ((long)head * m.keys_pitch + key) * m.queries_pitch;
}
INLINE long score_row(const Model& m, int head, long row) { return (head * m.rows + row) * (long)m.score_pitch; }
INLINE long value_row(const Model& m, int head, long row) { return (head * m.rows + row) * (long)m.writes_pitch; }

// Logits of key j for the group of eight queries from q on: minus infinity where hidden, zero in the pads, which must
// only stay finite.
INLINE Eight visible(const Model& m, int j, int q, Eight scores) {
    const EightInts lane = EightInts{0, 1, 2, 3, 4, 5, 6, 7} + q;
    scores = (lane < first_query(m, j)) | (lane >= last_query(m, j)) ? splat<Eight>(-INFINITY) : scores;
    return lane >= m.queries ? Eight{} : scores;
}

// Attention logits: the sum of four table entries; minus infinity where hidden.
static void gather_scores(const Model& m, const int64_t* tokens, float* scores) {
    const int64_t* query_tokens = tokens + m.positions - m.queries;
    for (int h = 0; h < m.heads; h++)
        for (int j = 0; j < m.positions; j++) {
            const float* by_token = m.score + score_row(m, h, tokens[j]);
            const float* by_position = m.score + score_row(m, h, m.dictionary + j);
            float* out = scores + weight_at(m, h, j);
            const int last = last_query(m, j);
#pragma GCC unroll 4
            for (int q = first_query(m, j); q < last; q++)
                out[q] = by_token[query_tokens[q]] + by_position[query_tokens[q]];
        }
    // In a loop of its own: a vector read right after its parts were written one by one would wait for them.
    for (int h = 0; h < m.heads; h++)
        for (int j = 0; j < m.positions; j++) {
            const float* by_token = m.score + score_row(m, h, tokens[j]) + m.tokens_pitch;
            const float* by_position = m.score + score_row(m, h, m.dictionary + j) + m.tokens_pitch;
            float* out = scores + weight_at(m, h, j);
            for (int q = first_query(m, j) / 8 * 8; q < last_query(m, j); q += 8)
                store(out + q, visible(m, j, q, load<Eight>(out + q) + (load<Eight>(by_token + q) + load<Eight>(by_position + q))));
        }
}

// Softmax over keys, in place. Adds the entropy of every row to `entropy[head]` when asked.
static void softmax_keys(const Model& m, float* scores, double* entropy) {
    for (int h = 0; h < m.heads; h++)
        for (int g = 0; g < m.queries; g += 8) {
            float* column = scores + weight_at(m, h, 0) + g;
            const int begin = first_key(m, g), end = last_key_of_group(m, g);
            const long pitch = m.queries_pitch;
            Eight top = load<Eight>(column + begin * pitch);
            for (int j = begin + 1; j < end; j++) {
                const Eight x = load<Eight>(column + j * pitch);
                top = x > top ? x : top;
            }
            Eight sum = {}, weighted = {};
            for (int j = begin; j < end; j++) {
                const Eight x = load<Eight>(column + j * pitch) - top;
                const Eight e = exponential<Eight, EightInts>(x);
                sum += e;
                if (entropy) weighted += x < -87.0f ? Eight{} : e * x;
                store(column + j * pitch, e);
            }
            const Eight inverse = 1.0f / sum;
            for (int j = 0; j < begin; j++) store(column + j * pitch, Eight{});
            for (int j = begin; j < end; j++) store(column + j * pitch, load<Eight>(column + j * pitch) * inverse);
            for (int j = end; j < m.positions; j++) store(column + j * pitch, Eight{});
            if (entropy)
                for (int q = 0; q < 8 && g + q < m.queries; q++)
                    entropy[h] += std::log((double)sum[q]) - (double)weighted[q] / (double)sum[q];
        }
}

// A dropped weight is remembered by its sign: weights are never negative.
static void drop_attention(const Model& m, const uint16_t* keep, float* weights) {
    for (int h = 0; h < m.heads; h++)
        for (int j = 0; j < m.positions; j++) {
            float* out = weights + weight_at(m, h, j);
            const uint16_t* bits = keep + (long)h * m.queries * m.positions + j;
            for (int q = first_query(m, j); q < last_query(m, j); q++) {
                uint32_t word;
                std::memcpy(&word, out + q, 4);
                word |= (uint32_t)(uint16_t)~bits[(long)q * m.positions] << 31;
                std::memcpy(out + q, &word, 4);
            }
        }
}

static void keep_positive(const float* from, long count, float* to) {
    for (long i = 0; i < count; i += 8) {
        const Eight x = load<Eight>(from + i);
        store(to + i, x < 0.0f ? Eight{} : x);
    }
}

// Heads whose values of one block of columns fit the first-level cache together.
struct Heads {
    int first, last;
};
INLINE int heads_at_a_time(const Model& m) {
    const int fit = VALUE_BYTES / (m.keys_pitch * COLUMNS * 4);
    return fit < 1 ? 1 : fit < m.heads ? fit : m.heads;
}

// One block of columns of the values of some heads, scaled: [head, key, COLUMNS].
static void gather_values(const Model& m, const int64_t* tokens, Heads heads, int from, int columns, float* values) {
    const Floats scale = splat<Floats>(m.drops[ATTENTION].scale);
    for (int h = heads.first; h < heads.last; h++)
        for (int j = 0; j < m.positions; j++) {
            const float* by_token = m.value + value_row(m, h, tokens[j]) + from;
            const float* by_position = m.value + value_row(m, h, m.dictionary + j) + from;
            float* out = values + ((long)(h - heads.first) * m.keys_pitch + j) * COLUMNS;
            for (int c = 0; c < columns; c += LANES)
                store(out + c, (load<Floats>(by_token + c) + load<Floats>(by_position + c)) * scale);
        }
}

constexpr int QUERY_ROWS = 4;  // queries of a register block: few, so that few of their keys lie ahead

// out[query, columns] = sum over heads and keys of weight * value; added to what the heads before have left there.
static void mix_values(const Model& m, Heads heads, const float* weights, const float* values, long head, int columns,
                       float* out) {
    const int blocks = (m.queries + QUERY_ROWS - 1) / QUERY_ROWS;
    for (int b = 0; b < blocks; b++) {
        const int q0 = m.queries * b / blocks, q1 = m.queries * (b + 1) / blocks;
        const int j0 = first_key(m, q0), j1 = last_key(m, q1 - 1);
        Product p;
        p.a = weights + weight_at(m, heads.first, j0) + q0;
        p.a_head = weight_at(m, 1, 0), p.a_k = m.queries_pitch, p.a_m = 1;
        p.b = values + (long)j0 * COLUMNS;
        p.b_head = head, p.b_k = COLUMNS;
        p.c = out + (long)q0 * m.writes_pitch, p.c_m = m.writes_pitch;
        p.heads = heads.last - heads.first, p.depth = j1 - j0, p.add = heads.first > 0;
        product(p, q1 - q0, columns);
    }
}

// values[key, columns] = sum over queries of weight * gradient.
static void value_gradients(const Model& m, Heads heads, const float* weights, const float* grads, long head,
                            int columns, float* values) {
    const int blocks = (m.positions + 5) / 6;
    for (int h = heads.first; h < heads.last; h++)
        for (int b = 0; b < blocks; b++) {
            const int j0 = m.positions * b / blocks, j1 = m.positions * (b + 1) / blocks;
            const int q0 = first_query(m, j0), q1 = last_query(m, j1 - 1);
            Product p;
            p.a = weights + weight_at(m, h, j0) + q0;
            p.a_head = 0, p.a_k = 1, p.a_m = m.queries_pitch;
            p.b = grads + (long)q0 * m.writes_pitch, p.b_head = 0, p.b_k = m.writes_pitch;
            p.c = values + (h - heads.first) * head + (long)j0 * COLUMNS, p.c_m = COLUMNS;
            p.heads = 1, p.depth = q1 - q0, p.add = false;
            product(p, j1 - j0, columns);
        }
}

static void scatter_values(const Model& m, const int64_t* tokens, Heads heads, const float* grads, int from,
                           int columns, float* table) {
    const Floats scale = splat<Floats>(m.drops[ATTENTION].scale);
    for (int h = heads.first; h < heads.last; h++)
        for (int j = 0; j < m.positions; j++) {
            float* by_token = table + value_row(m, h, tokens[j]) + from;
            float* by_position = table + value_row(m, h, m.dictionary + j) + from;
            const float* grad = grads + ((long)(h - heads.first) * m.keys_pitch + j) * COLUMNS;
            for (int c = 0; c < columns; c += LANES) {
                const Floats g = load<Floats>(grad + c) * scale;
                store(by_token + c, load<Floats>(by_token + c) + g);
                store(by_position + c, load<Floats>(by_position + c) + g);
            }
        }
}

// out[key, query] (+)= sum over columns of value[key, column] * gradient[column, query], KEYS keys and G groups.
template <int G>
static void dot_block(const float* values, long values_pitch, const float* grads, long pitch, int columns, float* out,
                      bool add) {
    Eight acc[KEYS][G];
    UNROLL
    for (int j = 0; j < KEYS; j++)
        UNROLL
        for (int g = 0; g < G; g++) acc[j][g] = add ? load<Eight>(out + j * pitch + g * 8) : Eight{};
    for (int c = 0; c < columns; c++) {
        Eight row[G];
        UNROLL
        for (int g = 0; g < G; g++) row[g] = load<Eight>(grads + c * pitch + g * 8);
        UNROLL
        for (int j = 0; j < KEYS; j++) {
            const Eight x = splat<Eight>(values[j * values_pitch + c]);
            UNROLL
            for (int g = 0; g < G; g++) acc[j][g] += x * row[g];
        }
    }
    UNROLL
    for (int j = 0; j < KEYS; j++)
        UNROLL
        for (int g = 0; g < G; g++) store(out + j * pitch + g * 8, acc[j][g]);
}

// out[key, query] (+)= rows[key, :] * across[:, query] for one head, where the query sees the key.
static void dot_keys(const Model& m, const float* rows, long rows_pitch, const float* across, int columns, bool add,
                     float* out) {
    const long pitch = m.queries_pitch;
    for (int j = 0; j < m.positions; j += KEYS) {
        const int last = j + KEYS < m.positions ? j + KEYS - 1 : m.positions - 1;
        const int end = (last_query(m, last) + 7) / 8;
        int g = first_query(m, j) / 8;
        const float* row = rows + j * rows_pitch;
        for (; end - g >= 3; g += 3)
            dot_block<3>(row, rows_pitch, across + g * 8, pitch, columns, out + j * pitch + g * 8, add);
        if (end - g == 2) dot_block<2>(row, rows_pitch, across + g * 8, pitch, columns, out + j * pitch + g * 8, add);
        if (end - g == 1) dot_block<1>(row, rows_pitch, across + g * 8, pitch, columns, out + j * pitch + g * 8, add);
    }
}

// Eight rows of eight become eight columns, in three rounds of exchanges.
INLINE void transpose_eight(const float* from, long pitch, float* out, long out_pitch) {
    Eight a[8], b[8];
    UNROLL
    for (int i = 0; i < 8; i++) a[i] = load<Eight>(from + i * pitch);
    UNROLL
    for (int i = 0; i < 8; i += 2) {
        b[i] = SHUFFLE_EIGHT(a[i], a[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        b[i + 1] = SHUFFLE_EIGHT(a[i], a[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
    UNROLL
    for (int i = 0; i < 8; i += 4)
        UNROLL
        for (int k = 0; k < 2; k++) {
            a[i + k] = SHUFFLE_EIGHT(b[i + k], b[i + k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            a[i + k + 2] = SHUFFLE_EIGHT(b[i + k], b[i + k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    UNROLL
    for (int i = 0; i < 4; i++) {
        store(out + i * out_pitch, SHUFFLE_EIGHT(a[i], a[i + 4], 0, 1, 2, 3, 8, 9, 10, 11));
        store(out + (i + 4) * out_pitch, SHUFFLE_EIGHT(a[i], a[i + 4], 4, 5, 6, 7, 12, 13, 14, 15));
    }
}

// out[column, row] = from[row, column]. Rows of `out` are padded to whole groups of eight.
static void transpose(const float* from, long pitch, int rows, int columns, long out_pitch, float* out) {
    int c = 0;
    for (; c + 8 <= columns; c += 8) {
        int q = 0;
        for (; q + 8 <= rows; q += 8) transpose_eight(from + q * pitch + c, pitch, out + c * out_pitch + q, out_pitch);
        if (q < rows) {
            float corner[64] = {};
            for (int i = 0; i < rows - q; i++) store(corner + i * 8, load<Eight>(from + (q + i) * pitch + c));
            transpose_eight(corner, 8, out + c * out_pitch + q, out_pitch);
        }
    }
    for (; c < columns; c++)
        for (int q = 0; q < rows; q++) out[c * out_pitch + q] = from[q * pitch + c];
}

// From gradients of the mixed weights to gradients of the logits, in place. `weights` carries drops as signs.
static void softmax_gradients(const Model& m, const float* weights, float* grads) {
    for (int h = 0; h < m.heads; h++)
        for (int g = 0; g < m.queries; g += 8) {
            const long base = weight_at(m, h, 0) + g, pitch = m.queries_pitch;
            const int begin = first_key(m, g), end = last_key_of_group(m, g);
            for (int j = 0; j < begin; j++) store(grads + base + j * pitch, Eight{});
            for (int j = end; j < m.positions; j++) store(grads + base + j * pitch, Eight{});
            Eight mean = {};
            for (int j = begin; j < end; j++) {
                const Eight a = load<Eight>(weights + base + j * pitch);
                mean += (a < 0.0f ? Eight{} : a) * load<Eight>(grads + base + j * pitch);
            }
            for (int j = begin; j < end; j++) {
                const Eight a = load<Eight>(weights + base + j * pitch);
                const Eight d = load<Eight>(grads + base + j * pitch);
                const Eight through = a < 0.0f ? Eight{} : d;
                const Eight size = a < 0.0f ? -a : a;
                store(grads + base + j * pitch, size * (through - mean));
            }
        }
}

static void scatter_scores(const Model& m, const int64_t* tokens, const float* grads, float* table) {
    const int64_t* query_tokens = tokens + m.positions - m.queries;
    for (int h = 0; h < m.heads; h++)
        for (int j = 0; j < m.positions; j++) {
            float* by_token = table + score_row(m, h, tokens[j]);
            float* by_position = table + score_row(m, h, m.dictionary + j);
            const float* grad = grads + weight_at(m, h, j);
            const int first = first_query(m, j), last = last_query(m, j);
#pragma GCC unroll 4
            for (int q = first; q < last; q++) {
                by_token[query_tokens[q]] += grad[q];
                by_position[query_tokens[q]] += grad[q];
            }
            for (int q = first / 8 * 8; q < last; q += 8) {
                const Eight d = load<Eight>(grad + q);
                float *a = by_token + m.tokens_pitch + q, *b = by_position + m.tokens_pitch + q;
                store(a, load<Eight>(a) + d);
                store(b, load<Eight>(b) + d);
            }
        }
}

struct AttentionScratch {
    Scratch<float> used, slopes, values, across;
    Scratch<uint16_t> keep;
    explicit AttentionScratch(const Model& m)
        : used(weight_at(m, m.heads, 0)),
          slopes(weight_at(m, m.heads, 0)),
          values((long)heads_at_a_time(m) * m.keys_pitch * COLUMNS),
          across((long)(m.head_size > COLUMNS ? m.head_size : COLUMNS) * m.queries_pitch),
          keep((long)m.heads * m.queries * m.positions + 64) {}
};

INLINE int groups_of_eight(int columns) { return (columns + 7) / 8 * 8; }

// From logits to weights with drops as signs, in place. Returns the weights to mix with: kept ones, zero elsewhere.
static const float* finish_weights(const Model& m, uint64_t key, AttentionScratch& scratch, const Attended* watch,
                                   float* weights) {
    const long size = weight_at(m, m.heads, 0);
    softmax_keys(m, weights, watch ? watch->entropy : nullptr);
    if (watch)
        for (long i = 0; i < size; i += 8)
            store(watch->map + i, load<Eight>(watch->map + i) + load<Eight>(weights + i));
    if (!m.drops[ATTENTION].threshold) return weights;
    draw_keep(key, m.heads * m.queries * m.positions, m.drops[ATTENTION].threshold, scratch.keep.data);
    drop_attention(m, scratch.keep.data, weights);
    keep_positive(weights, size, scratch.used.data);
    return scratch.used.data;
}

// The weights to mix with once more, from weights with drops as signs.
static const float* mixing_weights(const Model& m, AttentionScratch& scratch, const float* weights) {
    if (!m.drops[ATTENTION].threshold) return weights;
    keep_positive(weights, weight_at(m, m.heads, 0), scratch.used.data);
    return scratch.used.data;
}

INLINE Heads from_head(const Model& m, int first) {
    const int last = first + heads_at_a_time(m);
    return {first, last < m.heads ? last : m.heads};
}
INLINE long head_of_values(const Model& m) { return (long)m.keys_pitch * COLUMNS; }

static void attention_forward(const Model& m, const int64_t* tokens, uint64_t key, AttentionScratch& scratch,
                              const Attended* watch, float* weights, float* out) {
    gather_scores(m, tokens, weights);
    const float* mixing = finish_weights(m, key, scratch, watch, weights);
    for (int from = 0; from < m.writes; from += COLUMNS) {
        const int columns = groups_of_eight(m.writes - from < COLUMNS ? m.writes - from : COLUMNS);
        for (int h = 0; h < m.heads; h += heads_at_a_time(m)) {
            const Heads heads = from_head(m, h);
            gather_values(m, tokens, heads, from, columns, scratch.values.data);
            mix_values(m, heads, mixing, scratch.values.data, head_of_values(m), columns, out + from);
        }
    }
}

static void attention_backward(const Model& m, const int64_t* tokens, AttentionScratch& scratch, const float* weights,
                               const float* grads, const Gradients& to) {
    const float* mixing = mixing_weights(m, scratch, weights);
    float *values = scratch.values.data, *across = scratch.across.data, *slopes = scratch.slopes.data;
    for (int from = 0; from < m.writes; from += COLUMNS) {
        const int real = m.writes - from < COLUMNS ? m.writes - from : COLUMNS;
        const int columns = groups_of_eight(real);
        transpose(grads + from, m.writes_pitch, m.queries, real, m.queries_pitch, across);
        for (int first = 0; first < m.heads; first += heads_at_a_time(m)) {
            const Heads heads = from_head(m, first);
            // The forward pass has left the values there if there were no others in between.
            if (m.tile > 1 || m.writes > COLUMNS || heads_at_a_time(m) < m.heads)
                gather_values(m, tokens, heads, from, columns, values);
            for (int h = heads.first; h < heads.last; h++)
                dot_keys(m, values + (h - first) * head_of_values(m), COLUMNS, across, real, from > 0,
                         slopes + weight_at(m, h, 0));
            value_gradients(m, heads, mixing, grads + from, head_of_values(m), columns, values);
            scatter_values(m, tokens, heads, values, from, columns, to.value);
        }
    }
    softmax_gradients(m, weights, slopes);
    scatter_scores(m, tokens, slopes, to.score);
}
