// Attention weights of one sequence that stay as the score table has them, four heads side by side: [four heads, key,
// query, head]. Where no weight is dropped nothing asks for a head's weights alone, and between the table, softmax and
// the table's gradient no lane changes its place. Works on four queries of four heads at a time.

constexpr int QUERIES = 4, GROUP = QUERIES * QUAD, VECTORS_OF_GROUP = GROUP / LANES;

struct Group {
    Floats v[VECTORS_OF_GROUP];
};

INLINE Group load_group(const float* from) {
    Group g;
    UNROLL
    for (int i = 0; i < VECTORS_OF_GROUP; i++) g.v[i] = load<Floats>(from + i * LANES);
    return g;
}
INLINE void store_group(float* to, const Group& g) {
    UNROLL
    for (int i = 0; i < VECTORS_OF_GROUP; i++) store(to + i * LANES, g.v[i]);
}
INLINE void add_group(float* to, const Group& g) {
    UNROLL
    for (int i = 0; i < VECTORS_OF_GROUP; i++) add_to(to + i * LANES, g.v[i]);
}

// A vector from as many fours as it has, and back.
INLINE void join(const Four* fours, Four& to) { to = fours[0]; }
INLINE void join(const Four* fours, Eight& to) { to = JOIN_FOURS(fours[0], fours[1]); }
INLINE void join(const Four* fours, Sixteen& to) {
    const Eight low = JOIN_FOURS(fours[0], fours[1]), high = JOIN_FOURS(fours[2], fours[3]);
    to = JOIN_EIGHTS(low, high);
}
INLINE void split(const Four& from, Four* fours) { fours[0] = from; }
INLINE void split(const Eight& from, Four* fours) {
    fours[0] = FOUR_OF(from, 0), fours[1] = FOUR_OF(from, 4);
}
INLINE void split(const Sixteen& from, Four* fours) {
    fours[0] = FOUR_OF(from, 0), fours[1] = FOUR_OF(from, 4), fours[2] = FOUR_OF(from, 8), fours[3] = FOUR_OF(from, 12);
}

// Four rows of four, one for each head, become one row for each query.
INLINE void turn_fours(const Four* rows, Four* to) {
    const Four a = SHUFFLE_FOUR(rows[0], rows[1], 0, 4, 1, 5), b = SHUFFLE_FOUR(rows[2], rows[3], 0, 4, 1, 5);
    const Four c = SHUFFLE_FOUR(rows[0], rows[1], 2, 6, 3, 7), d = SHUFFLE_FOUR(rows[2], rows[3], 2, 6, 3, 7);
    to[0] = SHUFFLE_FOUR(a, b, 0, 1, 4, 5), to[1] = SHUFFLE_FOUR(a, b, 2, 3, 6, 7);
    to[2] = SHUFFLE_FOUR(c, d, 0, 1, 4, 5), to[3] = SHUFFLE_FOUR(c, d, 2, 3, 6, 7);
}
template <class V>
INLINE void turned_into(const Four* rows, V* to) {
    Four columns[QUERIES];
    turn_fours(rows, columns);
    UNROLL
    for (int i = 0; i < VECTORS_OF_GROUP; i++) join(columns + i * (LANES / QUAD), to[i]);
}
INLINE void turned_into(const Four* rows, Sixteen* to) {
    join(rows, to[0]);
    to[0] = SHUFFLE_SIXTEEN(to[0], 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
}

// Logits of key j for the four queries from q on: minus infinity where hidden, zero in the pads, which must only stay
// finite.
INLINE Group visible_group(const Block& m, int j, int q, Group logits) {
    const int begin = first_query(m, j), end = last_query(m, j);
    UNROLL
    for (int i = 0; i < VECTORS_OF_GROUP; i++) {
        Ints query;
        for (int lane = 0; lane < LANES; lane++) query[lane] = q + (i * LANES + lane) / QUAD;
        logits.v[i] = (query < begin) | (query >= end) ? splat<Floats>(-INFINITY) : logits.v[i];
        logits.v[i] = query >= m.queries ? Floats{} : logits.v[i];
    }
    return logits;
}

// Keys that some of the four queries from q on see: [begin, end); keys that all of them see: [all_begin, all_end).
struct KeysOfGroup {
    int begin, end, all_begin, all_end;
    KeysOfGroup(const Block& m, int q) {
        const bool whole = q + QUERIES <= m.queries;
        begin = first_key(m, q), end = q + QUERIES < m.queries ? last_key(m, q + QUERIES - 1) : m.positions;
        all_begin = whole ? first_key(m, q + QUERIES - 1) : end, all_end = whole ? last_key(m, q) : end;
    }
    bool all(int key) const { return key >= all_begin && key < all_end; }
};

// The rows of four heads' scores, or of their gradients, for one key: its token's and its position's.
template <class Float>
struct ScoreRows {
    Float *by_token, *by_position;
    ScoreRows(const Block& m, Float* table, const int64_t* tokens, int j)
        : by_token(table + score_row(m, 0, tokens[j])), by_position(table + score_row(m, 0, m.token_rows + j)) {}
};

INLINE Group logits_of_group(const ScoreRows<const float>& rows, const int32_t* columns, long position) {
    Four fours[QUERIES];
    UNROLL
    for (int i = 0; i < QUERIES; i++)
        fours[i] = load<Four>(rows.by_token + columns[i]) + load<Four>(rows.by_position + columns[i]);
    Group g;
    UNROLL
    for (int i = 0; i < VECTORS_OF_GROUP; i++) {
        join(fours + i * (LANES / QUAD), g.v[i]);
        const long at = position + i * LANES;
        g.v[i] += load<Floats>(rows.by_token + at) + load<Floats>(rows.by_position + at);
    }
    return g;
}

// Logarithms of the softmax's sums and mean logits below the largest, for the entropies of four heads. One logarithm
// serves sixteen queries: each sum is between 1 and the number of keys.
struct QuadEntropy {
    double sums[QUAD] = {1, 1, 1, 1};
    int waiting = 0;
    void flush(int heads, double* entropy) {
        for (int h = 0; h < heads; h++) entropy[h] += std::log(sums[h]), sums[h] = 1;
        waiting = 0;
    }
    void add(const Group& sum, const Group& weighted, int from, int to, int heads, double* entropy) {
        float s[GROUP], w[GROUP];
        store_group(s, sum), store_group(w, weighted);
        for (int i = from; i < to; i++)
            for (int h = 0; h < heads; h++) {
                const int lane = i * QUAD + h;
                sums[h] *= (double)s[lane], entropy[h] -= (double)w[lane] / (double)s[lane];
            }
        if (++waiting == 4) flush(heads, entropy);
    }
};

// From the score table to weights. Those of hidden keys are zero since memory was made and stay so. An evaluation's
// weights are summed in `seen`, which lies as they do.
template <bool WATCHED>
static void quad_weights_of(const Block& m, const int64_t* tokens, const int32_t* columns, const Attended* watch,
                            float* seen, float* weights) {
    const long pitch = (long)QUAD * m.queries_pitch, positions = QUAD * (long)m.tokens_pitch;
    for (int first = 0; first < m.heads; first += QUAD) {
        const int heads = m.heads - first < QUAD ? m.heads - first : QUAD;
        const float* table = m.score + score_row(m, first, 0);
        QuadEntropy entropy;
        for (int q = 0; q < m.queries; q += QUERIES) {
            const long from = weights_from(m, first, 0) + QUAD * q;
            float* column = weights + from;
            const KeysOfGroup keys(m, q);
            Group top, sum = {}, weighted = {};
            UNROLL
            for (int i = 0; i < VECTORS_OF_GROUP; i++) top.v[i] = splat<Floats>(-INFINITY);
            for (int j = keys.begin; j < keys.end; j++) {
                const ScoreRows<const float> rows(m, table, tokens, j);
                Group x = logits_of_group(rows, columns + q, positions + QUAD * q);
                if (!keys.all(j)) x = visible_group(m, j, q, x);
                UNROLL
                for (int i = 0; i < VECTORS_OF_GROUP; i++) top.v[i] = larger(x.v[i], top.v[i]);
                store_group(column + j * pitch, x);
            }
            for (int j = keys.begin; j < keys.end; j++) {
                Group x = load_group(column + j * pitch);
                UNROLL
                for (int i = 0; i < VECTORS_OF_GROUP; i++) {
                    const Floats below = x.v[i] - top.v[i];
                    x.v[i] = exponential<Floats, Ints>(below);
                    sum.v[i] += x.v[i];
                    if (WATCHED) weighted.v[i] += below < -87.0f ? Floats{} : x.v[i] * below;
                }
                store_group(column + j * pitch, x);
            }
            Group inverse;
            UNROLL
            for (int i = 0; i < VECTORS_OF_GROUP; i++) inverse.v[i] = 1.0f / sum.v[i];
            for (int j = keys.begin; j < keys.end; j++) {
                Group x = load_group(column + j * pitch);
                UNROLL
                for (int i = 0; i < VECTORS_OF_GROUP; i++) x.v[i] *= inverse.v[i];
                store_group(column + j * pitch, x);
                if (WATCHED) add_group(seen + from + j * pitch, x);
            }
            if (WATCHED) {
                const int uncounted = m.queries - (int)watch->counted - q, left = m.queries - q;
                entropy.add(sum, weighted, uncounted > 0 ? uncounted : 0, left < QUERIES ? left : QUERIES, heads,
                            watch->entropy + first);
            }
        }
        if (WATCHED) entropy.flush(heads, watch->entropy + first);
    }
}

static void quad_weights(const Block& m, const int64_t* tokens, const int32_t* columns, const Attended* watch,
                         float* seen, float* weights) {
    if (watch)
        quad_weights_of<true>(m, tokens, columns, watch, seen, weights);
    else
        quad_weights_of<false>(m, tokens, columns, watch, seen, weights);
}

// What an evaluation's weights summed to, head by head into double; `seen` starts again from zero.
static void drain_quads(const Block& m, float* seen, double* map) {
    for (int h = 0; h < m.heads; h++)
        for (int j = 0; j < m.positions; j++) {
            float* from = seen + weights_from(m, h, j);
            double* to = map + weight_at(m, h, j);
            for (int q = 0; q < m.queries; q++) to[q] += (double)from[QUAD * q], from[QUAD * q] = 0;
        }
}

// From gradients of the weights, [head, key, query], through the softmax to those of the table. `group` has room for
// the gradients of four queries with all keys.
static void quad_gradients(const Block& m, const int64_t* tokens, const int32_t* columns, const float* weights,
                           const float* slopes, float* group, float* table) {
    const long pitch = (long)QUAD * m.queries_pitch, positions = QUAD * (long)m.tokens_pitch;
    for (int first = 0; first < m.heads; first += QUAD) {
        float* quad_table = table + score_row(m, first, 0);
        for (int q = 0; q < m.queries; q += QUERIES) {
            const float* column = weights + weights_from(m, first, 0) + QUAD * q;
            const KeysOfGroup keys(m, q);
            Group mean = {};
            for (int j = keys.begin; j < keys.end; j++) {
                Four rows[QUAD];
                UNROLL
                for (int h = 0; h < QUAD; h++)
                    rows[h] = first + h < m.heads ? load<Four>(slopes + weight_at(m, first + h, j) + q) : Four{};
                Group d;
                turned_into(rows, d.v);
                const Group a = load_group(column + j * pitch);
                UNROLL
                for (int i = 0; i < VECTORS_OF_GROUP; i++) mean.v[i] += a.v[i] * d.v[i];
                store_group(group + j * GROUP, d);
            }
            for (int j = keys.begin; j < keys.end; j++) {
                const Group a = load_group(column + j * pitch);
                Group d = load_group(group + j * GROUP);
                const ScoreRows<float> to(m, quad_table, tokens, j);
                Four fours[QUERIES];
                UNROLL
                for (int i = 0; i < VECTORS_OF_GROUP; i++) {
                    d.v[i] = a.v[i] * (d.v[i] - mean.v[i]);
                    split(d.v[i], fours + i * (LANES / QUAD));
                }
                add_group(to.by_token + positions + QUAD * q, d);
                add_group(to.by_position + positions + QUAD * q, d);
                UNROLL
                for (int i = 0; i < QUERIES; i++) {
                    add_to(to.by_token + columns[q + i], fours[i]);
                    add_to(to.by_position + columns[q + i], fours[i]);
                }
            }
        }
    }
}
