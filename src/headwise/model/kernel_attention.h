// Attention of one sequence on tables, forward and backward.

struct AttentionScratch {
    Scratch<float> used, slopes, values, across, row, group, seen;
    Scratch<int32_t> columns;
    Scratch<uint16_t> keep;
    explicit AttentionScratch(const Block& m)
        : used(weight_at(m, m.heads, 0)),
          slopes(weight_at(m, m.heads, 0)),
          values((long)heads_at_a_time(m) * m.keys_pitch * COLUMNS),
          across((long)(m.head_size > COLUMNS ? m.head_size : COLUMNS) * m.queries_pitch),
          row((long)QUAD * m.queries_pitch),
          group(in_quads(m) ? (long)m.positions * GROUP : 0),
          seen(in_quads(m) ? weights_size(m) : 0),
          columns(m.queries_pitch),
          keep((long)(m.heads * m.queries + 8) * m.positions + 64) {}
};

// From logits to weights with drops as signs, in place. Returns the weights to mix with: kept ones, zero elsewhere.
static const float* finish_weights(const Block& m, uint64_t key, AttentionScratch& scratch, const Attended* watch,
                                   float* weights) {
    const long size = weight_at(m, m.heads, 0);
    softmax_keys(m, weights, watch ? watch->entropy : nullptr, watch ? (int)watch->counted : 0);
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
static const float* mixing_weights(const Block& m, AttentionScratch& scratch, const float* weights) {
    if (!m.drops[ATTENTION].threshold) return weights;
    keep_positive(weights, weight_at(m, m.heads, 0), scratch.used.data);
    return scratch.used.data;
}

// Heads whose values are used together: never of two quads, whose weights lie far apart.
INLINE Heads from_head(const Block& m, int first) {
    const int last = first + heads_at_a_time(m), end = in_quads(m) ? (first / QUAD + 1) * QUAD : m.heads;
    const int most = end < m.heads ? end : m.heads;
    return {first, last < most ? last : most};
}
INLINE long head_of_values(const Block& m) { return (long)m.keys_pitch * COLUMNS; }

static void attention_forward(const Block& m, const int64_t* tokens, uint64_t key, AttentionScratch& scratch,
                              const Attended* watch, float* weights, float* out) {
    query_columns(m, tokens, scratch.columns.data);
    const float* mixing = weights;
    if (in_quads(m)) {
        quad_weights(m, tokens, scratch.columns.data, watch, scratch.seen.data, weights);
    } else {
        gather_scores(m, tokens, scratch.columns.data, weights);
        mixing = finish_weights(m, key, scratch, watch, weights);
    }
    float* values = scratch.values.data;
    if (m.output_t) {
        // Head by head: columns that the last group of eight has too many are the next head's to overwrite.
        for (int h = 0; h < m.heads; h++)
            for (int from = 0; from < m.value_columns; from += COLUMNS) {
                const int columns = groups_of_eight(columns_from(m, from));
                gather_values(m, tokens, {h, h + 1}, from, columns, values);
                Mixing mix;
                mix.heads = {h, h + 1}, mix.weights = mixing, mix.values = values, mix.next_head = 0;
                mix.columns = columns, mix.mode = REPLACE, mix.out = out + own_columns(m, h) + from;
                mix_values(m, mix);
            }
        return;
    }
    for (int from = 0; from < m.value_columns; from += COLUMNS) {
        const int columns = groups_of_eight(columns_from(m, from));
        for (int h = 0; h < m.heads; h = from_head(m, h).last) {
            const Heads heads = from_head(m, h);
            gather_values(m, tokens, heads, from, columns, values);
            Mixing mix;
            mix.heads = heads, mix.weights = mixing, mix.values = values, mix.next_head = head_of_values(m);
            mix.columns = columns, mix.mode = h > 0 ? ADD : REPLACE, mix.out = out + from;
            mix_values(m, mix);
        }
    }
}

// Gradients of the mixed weights, from those of the mixed values.
static void weight_gradients(const Block& m, const int64_t* tokens, AttentionScratch& scratch, const float* grads,
                             float* slopes) {
    float *values = scratch.values.data, *across = scratch.across.data;
    if (m.output_t) {
        for (int h = 0; h < m.heads; h++)
            for (int from = 0; from < m.value_columns; from += COLUMNS) {
                const int real = columns_from(m, from);
                transpose(grads + own_columns(m, h) + from, m.mixed_pitch, m.queries, real, m.queries_pitch, across);
                gather_values(m, tokens, {h, h + 1}, from, groups_of_eight(real), values);
                Dots d;
                d.rows = {values, COLUMNS}, d.across = across, d.columns = real;
                d.mode = from > 0 ? ADD : REPLACE, d.out = slopes + weight_at(m, h, 0);
                dot_keys(m, d);
            }
        return;
    }
    // The forward pass has left the values there if there were no others in between.
    const bool gathered = m.together == 1 && m.value_columns <= COLUMNS && from_head(m, 0).last == m.heads;
    for (int from = 0; from < m.value_columns; from += COLUMNS) {
        const int real = columns_from(m, from);
        transpose(grads + from, m.mixed_pitch, m.queries, real, m.queries_pitch, across);
        for (int first = 0; first < m.heads; first = from_head(m, first).last) {
            const Heads heads = from_head(m, first);
            if (!gathered) gather_values(m, tokens, heads, from, groups_of_eight(real), values);
            for (int h = heads.first; h < heads.last; h++) {
                Dots d;
                d.rows = {values + (h - first) * head_of_values(m), COLUMNS}, d.across = across, d.columns = real;
                d.mode = from > 0 ? ADD : REPLACE, d.out = slopes + weight_at(m, h, 0);
                dot_keys(m, d);
            }
        }
    }
}

// Gradients of the scores. Those of the values are left to `scatter_value_gradients`, for many sequences at a time: it
// needs the weights to mix with, which therefore take the place of the weights.
static void attention_backward(const Block& m, const int64_t* tokens, AttentionScratch& scratch, float* weights,
                               const float* grads, const Gradients& to) {
    float* slopes = scratch.slopes.data;
    weight_gradients(m, tokens, scratch, grads, slopes);
    query_columns(m, tokens, scratch.columns.data);
    if (in_quads(m))
        return quad_gradients(m, tokens, scratch.columns.data, weights, slopes, scratch.group.data, to.score);
    softmax_gradients(m, weights, slopes);
    scatter_scores(m, tokens, scratch.columns.data, slopes, scratch.row.data, to.score);
    if (m.drops[ATTENTION].threshold) keep_positive(weights, weight_at(m, m.heads, 0), weights);
}
