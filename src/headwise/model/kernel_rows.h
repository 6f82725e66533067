// Attention on rows of queries, keys and values, whoever made them: products of the stream with the block's matrices,
// or rows of tables. Queries are [sequence * query, head * head_pitch], keys and values [sequence * position, ...];
// keys of a merged score are the stream itself, the same for all heads. Values carry the scale of dropped weights.

static void add_bias(const float* bias, float* rows, long pitch, int count, int columns) {
    for (int n = 0; n < count; n++)
        for (int c = 0; c < columns; c += 8)
            store(rows + n * pitch + c, load<Eight>(rows + n * pitch + c) + load<Eight>(bias + c));
}

static void sum_bias(float* sums, const float* rows, long pitch, int count, int columns) {
    for (int n = 0; n < count; n++)
        for (int c = 0; c < columns; c += 8) add_to(sums + c, load<Eight>(rows + n * pitch + c));
}

// Rows of a table for the positions from `first` on: one row per pair of token and position, or the sum of a token row
// and a position row.
static void gather_rows(const Block& m, const int64_t* tokens, int first, const float* table, long pitch, float* out) {
    for (int s = first; s < m.positions; s++, out += pitch) {
        if (m.pairs) {
            std::memcpy(out, table + (tokens[s] * m.positions + s) * pitch, sizeof(float) * pitch);
            continue;
        }
        const float *token = table + tokens[s] * pitch, *position = table + (long)(m.token_rows + s) * pitch;
        for (long c = 0; c < pitch; c += LANES) store(out + c, load<Floats>(token + c) + load<Floats>(position + c));
    }
}

static void scatter_rows(const Block& m, const int64_t* tokens, int first, const float* grads, long pitch, int columns,
                         float* table) {
    for (int s = first; s < m.positions; s++, grads += pitch) {
        if (m.pairs) {
            float* row = table + (tokens[s] * m.positions + s) * pitch;
            for (int c = 0; c < columns; c += 8) add_to(row + c, load<Eight>(grads + c));
            continue;
        }
        float *token = table + tokens[s] * pitch, *position = table + (long)(m.token_rows + s) * pitch;
        for (int c = 0; c < columns; c += 8) {
            const Eight g = load<Eight>(grads + c);
            add_to(token + c, g);
            add_to(position + c, g);
        }
    }
}

INLINE bool keys_are_the_stream(const Block& m) { return m.merged && m.source == DENSE; }

// Queries, keys and values of a tile, and their gradients.
struct RowsTile {
    Scratch<float> asked, queries, keys, values;
    RowsTile(const Block& m, bool used)
        : asked(used && m.source == DENSE && m.queries < m.positions ? (long)m.tile * m.queries * m.reads_pitch : 0),
          queries(used ? (long)m.tile * m.queries * m.query_pitch : 0),
          keys(used && !keys_are_the_stream(m) ? (long)m.tile * m.positions * m.key_pitch : 0),
          values(used ? (long)m.tile * m.positions * m.values_pitch : 0) {}
};

INLINE int query_columns_of(const Block& m) { return m.heads * m.head_pitch; }
INLINE int value_columns_of(const Block& m) { return m.heads * m.value_columns; }
INLINE int key_columns_of(const Block& m) { return m.merged ? m.head_pitch : m.heads * m.head_pitch; }
INLINE int key_column(const Block& m, int head) { return m.merged ? 0 : head * m.head_pitch; }

static void gather_tile(const Block& m, const int64_t* tokens, int count, RowsTile& t) {
    for (int n = 0; n < count; n++, tokens += m.positions) {
        gather_rows(m, tokens, m.positions - m.queries, m.query_rows, m.query_pitch,
                    t.queries.data + (long)n * m.queries * m.query_pitch);
        gather_rows(m, tokens, 0, m.key_rows, m.key_pitch, t.keys.data + (long)n * m.positions * m.key_pitch);
        gather_rows(m, tokens, 0, m.value_rows, m.values_pitch, t.values.data + (long)n * m.positions * m.values_pitch);
    }
}

// The rows of the stream that ask: those of the counted positions, sequence after sequence.
static const float* asking(const Block& m, const float* stream, int count, RowsTile& t) {
    if (m.queries == m.positions) return stream;
    const long size = (long)m.queries * m.reads_pitch;
    for (int n = 0; n < count; n++)
        std::memcpy(t.asked.data + n * size, stream + ((long)(n + 1) * m.positions - m.queries) * m.reads_pitch,
                    sizeof(float) * size);
    return t.asked.data;
}

static void project_tile(const Block& m, const float* stream, int count, RowsTile& t) {
    const int rows = count * m.positions, asked_rows = count * m.queries;
    const int columns = query_columns_of(m), value_columns = value_columns_of(m);
    const Matrix read = by_rows(stream, m.reads_pitch), asked = by_rows(asking(m, stream, count, t), m.reads_pitch);
    multiply_blocks(asked, m.query, {t.queries.data, m.query_pitch}, {asked_rows, m.reads, columns});
    if (m.query_bias) add_bias(m.query_bias, t.queries.data, m.query_pitch, asked_rows, columns);
    if (!m.merged) {
        multiply_blocks(read, m.key, {t.keys.data, m.key_pitch}, {rows, m.reads, columns});
        if (m.key_bias) add_bias(m.key_bias, t.keys.data, m.key_pitch, rows, columns);
    }
    multiply_blocks(read, m.values, {t.values.data, m.values_pitch}, {rows, m.reads, value_columns});
    if (m.values_bias) add_bias(m.values_bias, t.values.data, m.values_pitch, rows, value_columns);
}

// The rows of one sequence.
struct SequenceRows {
    const float *queries, *keys, *values;
    SequenceRows(const Block& m, const RowsTile& t, const float* stream, int n)
        : queries(t.queries.data + (long)n * m.queries * m.query_pitch),
          keys(keys_are_the_stream(m) ? stream + (long)n * m.positions * m.reads_pitch
                        : t.keys.data + (long)n * m.positions * m.key_pitch),
          values(t.values.data + (long)n * m.positions * m.values_pitch) {}
};

// out[query, columns]: all heads add to the same columns, or, where there is an `output_t`, each has its own.
static void rows_forward(const Block& m, const SequenceRows& rows, uint64_t key, AttentionScratch& scratch,
                         const Attended* watch, float* weights, float* out) {
    for (int h = 0; h < m.heads; h++) {
        transpose(rows.queries + h * m.head_pitch, m.query_pitch, m.queries, m.head_size, m.queries_pitch,
                  scratch.across.data);
        Dots d;
        d.rows = {rows.keys + key_column(m, h), m.key_pitch}, d.across = scratch.across.data, d.columns = m.head_size;
        d.mode = REPLACE, d.out = weights + weight_at(m, h, 0);
        dot_keys(m, d);
        finish_scores(m, h, weights + weight_at(m, h, 0));
    }
    const float* mixing = finish_weights(m, key, scratch, watch, weights);
    const int blocks = (m.queries + QUERY_ROWS - 1) / QUERY_ROWS;
    for (int h = 0; h < m.heads; h += m.output_t ? 1 : m.heads)
        for (int b = 0; b < blocks; b++) {
            const int q0 = m.queries * b / blocks, q1 = m.queries * (b + 1) / blocks;
            const int j0 = first_key(m, q0), j1 = last_key(m, q1 - 1);
            Product p;
            p.a = mixing + weight_at(m, h, j0) + q0;
            p.a_head = weight_at(m, 1, 0), p.a_k = m.queries_pitch, p.a_m = 1;
            p.b = rows.values + (long)j0 * m.values_pitch + h * m.value_columns;
            p.b_head = m.value_columns, p.b_k = m.values_pitch;
            p.c = out + (long)q0 * m.mixed_pitch + own_columns(m, h), p.c_m = m.mixed_pitch;
            p.heads = m.output_t ? 1 : m.heads, p.depth = j1 - j0, p.add = false;
            product(p, q1 - q0, m.value_columns);
        }
}

// From the gradients of one head's logits, `slopes`, to those of its queries and keys, and of relative scores.
struct LogitGradients {
    const float* slopes;
    Rows queries, keys;
    Into query_grads, key_grads;
    float* lag_sum;  // null without relative scores
};

static void logit_gradients(const Block& m, const LogitGradients& io) {
    const int columns = groups_of_eight(m.head_size);
    for (int q = 0; q < m.queries; q += QUERY_ROWS) {
        const int end = q + QUERY_ROWS < m.queries ? q + QUERY_ROWS : m.queries;
        const int j0 = first_key(m, q), j1 = last_key(m, end - 1);
        Product p;
        p.a = io.slopes + (long)j0 * m.queries_pitch + q, p.a_head = 0, p.a_k = m.queries_pitch, p.a_m = 1;
        p.b = io.keys.data + j0 * io.keys.pitch, p.b_head = 0, p.b_k = io.keys.pitch;
        p.c = io.query_grads.data + q * io.query_grads.pitch, p.c_m = io.query_grads.pitch;
        p.heads = 1, p.depth = j1 - j0, p.add = io.query_grads.mode == ADD;
        product(p, end - q, columns);
    }
    const KeyBlocks blocks(m);
    for (int b = 0; b < blocks.count; b++) {
        const int j0 = blocks.first(b), j1 = blocks.first(b + 1);
        const int q0 = first_query(m, j0), q1 = last_query(m, j1 - 1);
        Product p;
        p.a = io.slopes + (long)j0 * m.queries_pitch + q0, p.a_head = 0, p.a_k = 1, p.a_m = m.queries_pitch;
        p.b = io.queries.data + q0 * io.queries.pitch, p.b_head = 0, p.b_k = io.queries.pitch;
        p.c = io.key_grads.data + j0 * io.key_grads.pitch, p.c_m = io.key_grads.pitch;
        p.heads = 1, p.depth = q1 - q0, p.add = io.key_grads.mode == ADD;
        product(p, j1 - j0, columns);
    }
    if (!io.lag_sum) return;
    for (int j = 0; j < m.positions; j++)
        for (int q = first_query(m, j); q < last_query(m, j); q++)
            io.lag_sum[(long)j * m.queries_pitch + q] += io.slopes[(long)j * m.queries_pitch + q];
}

// Gradients of a tile's rows, or of one sequence's; `keys` are those of the stream where that is what keys are.
struct RowGradients {
    float *queries, *keys, *values;
};

// From the gradient of what the heads mixed, [query, columns], to those of queries, keys, values and relative scores.
static void rows_backward(const Block& m, const SequenceRows& rows, AttentionScratch& scratch, const float* weights,
                          const float* grads, const RowGradients& out, float* lag_sum) {
    const float* mixing = mixing_weights(m, scratch, weights);
    const KeyBlocks key_blocks(m);
    float* slopes = scratch.slopes.data;
    for (int h = 0; h < m.heads; h++)
        for (int from = 0; from < m.value_columns; from += COLUMNS) {
            const int columns = columns_from(m, from), column = h * m.value_columns + from;
            const float* mixed = grads + own_columns(m, h) + from;
            transpose(mixed, m.mixed_pitch, m.queries, columns, m.queries_pitch, scratch.across.data);
            Dots d;
            d.rows = {rows.values + column, m.values_pitch}, d.across = scratch.across.data, d.columns = columns;
            d.mode = from > 0 ? ADD : REPLACE, d.out = slopes + weight_at(m, h, 0);
            dot_keys(m, d);
            for (int b = 0; b < key_blocks.count; b++) {
                const int j0 = key_blocks.first(b), j1 = key_blocks.first(b + 1);
                Product p = over_queries(m, mixing, mixed, h, j0, j1);
                p.c = out.values + (long)j0 * m.values_pitch + column, p.c_m = m.values_pitch;
                product(p, j1 - j0, columns);
            }
        }
    softmax_gradients(m, weights, slopes);
    for (int h = 0; h < m.heads; h++) {
        LogitGradients io;
        io.slopes = slopes + weight_at(m, h, 0), io.lag_sum = lag_sum ? lag_sum + weight_at(m, h, 0) : nullptr;
        io.queries = {rows.queries + h * m.head_pitch, m.query_pitch};
        io.keys = {rows.keys + key_column(m, h), m.key_pitch};
        io.query_grads = {out.queries + h * m.head_pitch, m.query_pitch};
        io.key_grads = {out.keys + key_column(m, h), m.key_pitch, m.merged && h > 0 ? ADD : REPLACE};
        logit_gradients(m, io);
    }
}

static void scatter_tile(const Block& m, const int64_t* tokens, int count, const RowGradients& grads,
                         const Gradients& to) {
    for (int n = 0; n < count; n++, tokens += m.positions) {
        scatter_rows(m, tokens, m.positions - m.queries, grads.queries + (long)n * m.queries * m.query_pitch,
                     m.query_pitch, query_columns_of(m), to.query_rows);
        scatter_rows(m, tokens, 0, grads.keys + (long)n * m.positions * m.key_pitch, m.key_pitch, key_columns_of(m),
                     to.key_rows);
        scatter_rows(m, tokens, 0, grads.values + (long)n * m.positions * m.values_pitch, m.values_pitch,
                     value_columns_of(m), to.value_rows);
    }
}

// From the gradients of the rows to those of the matrices and of the stream, `stream_grads` [sequence * position, reads].
// Under a merged score the keys' gradient is already there. `asked_grads` has room for the asking rows.
struct StreamGradients {
    float *stream_grads, *asked_grads;
};

static void project_tile_backward(const Block& m, const float* stream, int count, const RowsTile& t,
                                  const RowGradients& grads, const Gradients& to, StreamGradients out) {
    const int rows = count * m.positions, asked_rows = count * m.queries;
    const int columns = query_columns_of(m), value_columns = value_columns_of(m);
    const Matrix read = transposed(stream, m.reads_pitch);
    const Matrix asked = m.queries == m.positions ? read : transposed(t.asked.data, m.reads_pitch);
    multiply(asked, {grads.queries, m.query_pitch}, {to.query_t, m.query_pitch, ADD}, {m.reads, asked_rows, columns});
    if (m.query_bias) sum_bias(to.query_bias, grads.queries, m.query_pitch, asked_rows, columns);
    if (!m.merged) {
        multiply(read, {grads.keys, m.key_pitch}, {to.key_t, m.key_pitch, ADD}, {m.reads, rows, columns});
        if (m.key_bias) sum_bias(to.key_bias, grads.keys, m.key_pitch, rows, columns);
        multiply_blocks(by_rows(grads.keys, m.key_pitch), m.key_back, {out.stream_grads, m.reads_pitch},
                        {rows, columns, m.reads});
    }
    multiply(read, {grads.values, m.values_pitch}, {to.values_t, m.values_pitch, ADD}, {m.reads, rows, value_columns});
    if (m.values_bias) sum_bias(to.values_bias, grads.values, m.values_pitch, rows, value_columns);
    multiply_blocks(by_rows(grads.values, m.values_pitch), m.values_back, {out.stream_grads, m.reads_pitch, ADD},
                    {rows, value_columns, m.reads});
    const Matrix back = by_rows(grads.queries, m.query_pitch);
    if (m.queries == m.positions) {
        multiply_blocks(back, m.query_back, {out.stream_grads, m.reads_pitch, ADD}, {rows, columns, m.reads});
        return;
    }
    multiply_blocks(back, m.query_back, {out.asked_grads, m.reads_pitch}, {asked_rows, columns, m.reads});
    for (int n = 0; n < count; n++) {
        float* into = out.stream_grads + ((long)(n + 1) * m.positions - m.queries) * m.reads_pitch;
        const float* from = out.asked_grads + (long)n * m.queries * m.reads_pitch;
        for (long i = 0; i < (long)m.queries * m.reads_pitch; i += 8) add_to(into + i, load<Eight>(from + i));
    }
}
