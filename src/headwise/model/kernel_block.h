// Everything after attention, row by row, and the whole block for a range of sequences.

// Where one query of one sequence lies in the input's table and in its gradient: token row and position row.
struct InputRows {
    long token, position;
    InputRows(const Model& m, const int64_t* tokens, int q) {
        const int at = m.positions - m.queries + q;
        token = tokens[at] * m.writes_pitch;
        position = (long)(m.dictionary + at) * m.writes_pitch;
    }
};

// A row's own mean and spread: afterwards it has mean 0 and variance 1. Returns the inverse deviation.
static float normalise(float* row, Floats sum, int width, float epsilon) {
    const int last = (width - 1) / LANES * LANES;
    const Ints tail = first_lanes(width - last);
    const float mean = total(sum) / (float)width;
    Floats squares = {};
    for (int c = 0; c <= last; c += LANES) {
        Floats y = load<Floats>(row + c) - mean;
        if (c == last) y = masked(y, tail);
        squares += y * y;
        store(row + c, y);
    }
    const float inverse = 1.0f / std::sqrt(total(squares) / (float)width + epsilon);
    for (int c = 0; c <= last; c += LANES) store(row + c, load<Floats>(row + c) * inverse);
    return inverse;
}

// One branch of one sequence, in place: normalised(carried + dropped(branch + offset)), each part where the model has
// it. What is carried is the input, from its table or as it is, or the activations `before` a normalised branch.
struct BranchForward {
    Site site;
    uint64_t key;
    const float* offset;
    const int64_t* tokens;
    const float *input, *before;  // `input`: with coordinates dropped
    float *rows, *inverse_deviation;
};

static void branch_forward(const Model& m, const BranchForward& io, uint16_t* keep) {
    const Drop drop = m.drops[io.site];
    const int last = (m.writes - 1) / LANES * LANES;
    const Ints tail = first_lanes(m.writes - last);
    const Floats scale = splat<Floats>(drop.scale);
    if (drop.threshold) draw_keep(io.key, m.queries * m.writes, drop.threshold, keep);
    for (int q = 0; q < m.queries; q++) {
        float* row = io.rows + (long)q * m.writes_pitch;
        const float* before = io.before + (long)q * m.writes_pitch;
        const uint16_t* bits = keep + (long)q * m.writes;
        Floats sum = {};
        for (int c = 0; c <= last; c += LANES) {
            Floats y = load<Floats>(row + c);
            if (io.offset) y += load<Floats>(io.offset + c);
            if (drop.threshold) y = masked(y * scale, widen(bits + c));
            if (m.residual) {
                if (io.input) {
                    y += load<Floats>(io.input + (long)q * m.writes_pitch + c);
                } else if (io.tokens) {
                    const InputRows at(m, io.tokens, q);
                    y += load<Floats>(m.stream + at.token + c) + load<Floats>(m.stream + at.position + c);
                } else if (m.norm) {
                    y += load<Floats>(before + c) * load<Floats>(m.gain + c) + load<Floats>(m.shift + c);
                } else {
                    y += load<Floats>(before + c);
                }
            }
            if (c == last) y = masked(y, tail);
            sum += y;
            store(row + c, y);
        }
        if (m.norm) io.inverse_deviation[q] = normalise(row, sum, m.writes, m.epsilon);
    }
}

// `grads`: with respect to the branch's output, in; to the residual sum, out. `later` is the gradient of a residual
// sum further on that carried this output. `branch_grads` receives the gradient of the branch itself.
struct BranchBackward {
    Site site;
    uint64_t key;
    const int64_t* tokens;
    const uint16_t* input_keep;  // of the queries' inputs, null where nothing is dropped
    const float *rows, *inverse_deviation, *later;
    float *grads, *branch_grads, *offset_sum;
};

static void branch_backward(const Model& m, const BranchBackward& io, const Gradients& to, uint16_t* keep) {
    const Drop drop = m.drops[io.site];
    const int last = (m.writes - 1) / LANES * LANES;
    const Ints tail = first_lanes(m.writes - last);
    const Floats scale = splat<Floats>(drop.scale), input_scale = splat<Floats>(m.drops[EMBEDDING].scale);
    if (drop.threshold) draw_keep(io.key, m.queries * m.writes, drop.threshold, keep);
    for (int q = 0; q < m.queries; q++) {
        const long from = (long)q * m.writes_pitch;
        const float* hat = io.rows + from;
        float* grad = io.grads + from;
        const uint16_t* bits = keep + (long)q * m.writes;
        Floats sum = {}, along = {};
        if (io.later || m.norm)
            for (int c = 0; c <= last; c += LANES) {
                Floats g = load<Floats>(grad + c);
                const Floats x = load<Floats>(hat + c);
                if (io.later) {
                    const Floats l = load<Floats>(io.later + from + c);
                    if (m.norm) {
                        add_to(to.gain + c, l * x);
                        add_to(to.shift + c, l);
                        g += l * load<Floats>(m.gain + c);
                    } else {
                        g += l;
                    }
                }
                sum += g;
                along += g * x;
                store(grad + c, g);
            }
        const float mean = m.norm ? total(sum) / (float)m.writes : 0;
        const float slope = m.norm ? total(along) / (float)m.writes : 0;
        const float inverse = m.norm ? io.inverse_deviation[q] : 1;
        for (int c = 0; c <= last; c += LANES) {
            Floats g = load<Floats>(grad + c);
            if (m.norm) g = (g - mean - load<Floats>(hat + c) * slope) * inverse;
            if (c == last) g = masked(g, tail);
            store(grad + c, g);
            if (m.residual && io.tokens) {
                const InputRows at(m, io.tokens, q);
                Floats x = g;
                if (io.input_keep) x = masked(g * input_scale, widen(io.input_keep + (long)q * m.writes + c));
                add_to(to.stream + at.token + c, x);
                add_to(to.stream + at.position + c, x);
            }
            if (drop.threshold) g = masked(g * scale, widen(bits + c));
            if (io.offset_sum) add_to(io.offset_sum + c, g);
            store(io.branch_grads + from + c, g);
        }
    }
}

// The hidden units of one sequence, in place: bias, ReLU, then dropout. What is kept and on stays positive, all else
// becomes zero, so the backward pass needs no mask.
static void relu_forward(const Model& m, uint64_t key, float* rows, uint16_t* keep) {
    const Drop drop = m.drops[MLP];
    const Floats scale = splat<Floats>(drop.scale);
    if (drop.threshold) draw_keep(key, m.queries * m.units, drop.threshold, keep);
    for (int q = 0; q < m.queries; q++) {
        float* row = rows + (long)q * m.units_pitch;
        for (int c = 0; c < m.units; c += LANES) {
            Floats x = load<Floats>(row + c) + load<Floats>(m.hidden_bias + c);
            x = x <= 0.0f ? Floats{} : x;
            if (drop.threshold) x = masked(x * scale, widen(keep + (long)q * m.units + c));
            store(row + c, x);
        }
    }
}

static void relu_backward(const Model& m, const float* rows, float* grads, float* bias_sum, int count) {
    const Floats scale = splat<Floats>(m.drops[MLP].scale);
    for (long at = 0; at < (long)count * m.units_pitch; at += m.units_pitch)
        for (int c = 0; c < m.units; c += LANES) {
            const Floats x = load<Floats>(rows + at + c);
            const Floats g = x == 0.0f ? Floats{} : load<Floats>(grads + at + c) * scale;
            store(grads + at + c, g);
            add_to(bias_sum + c, g);
        }
}

// Activations of a tile of sequences. They are overwritten by their gradients as soon as nothing needs them.
struct Tile {
    AttentionScratch attention;
    DroppedTile dropped;
    Scratch<float> weights, mixed, mixed_grad, first, second, hidden, hidden_grad, logits, grad, first_deviation, second_deviation;
    Scratch<uint16_t> keep;
    explicit Tile(const Model& m)
        : attention(m),
          dropped(m, m.project),
          weights(m.tile * weight_at(m, m.heads, 0)),
          mixed(m.output_t ? (long)m.tile * m.queries * m.mixed_pitch : 0),
          mixed_grad(m.output_t ? (long)m.tile * m.queries * m.mixed_pitch : 0),
          first((long)m.tile * m.queries * m.writes_pitch),
          second(m.units ? (long)m.tile * m.queries * m.writes_pitch : 0),
          hidden((long)m.tile * m.queries * m.units_pitch),
          hidden_grad((long)m.tile * m.queries * m.units_pitch),
          logits(m.read_t ? (long)m.tile * m.queries * m.read_pitch : 0),
          grad((long)m.tile * m.queries * m.writes_pitch),
          first_deviation((long)m.tile * m.queries),
          second_deviation((long)m.tile * m.queries),
          keep((long)m.queries * (m.writes > m.units ? m.writes : m.units) + 128) {}
};

// Whether attention's output is the stream after it as it is.
INLINE bool bare(const Model& m) {
    return !m.residual && !m.norm && !m.offset && !m.drops[ATTENTION_BRANCH].threshold;
}

// The stream after the block, [sequence * query, writes]; normalised but for gain and bias, which are folded into what
// reads it. Attention's part of a tile is used from `slot` on; it is 0 where there is more than attention.
static float* forward(const Model& m, const Batch& batch, long start, int count, int slot, const Attended* watch,
                      Tile& t, Stopwatch& clock) {
    const long rows = (long)m.queries * m.writes_pitch;
    float* first = t.first.data + slot * rows;
    float* deviation = t.first_deviation.data + (long)slot * m.queries;
    if (m.project) dropped_forward(m, batch, start, count, t.attention, t.dropped, t.weights.data, t.first.data);
    if (m.output_t) {
        for (int n = 0; n < count; n++)
            attention_forward(m, batch.tokens + (start + n) * m.positions, batch.key(ATTENTION, start + n), t.attention,
                              watch, t.weights.data + n * weight_at(m, m.heads, 0),
                              t.mixed.data + (long)n * m.queries * m.mixed_pitch);
        clock.lap(ATTEND);
        multiply({t.mixed.data, m.mixed_pitch, 1}, m.output_t, m.writes_pitch, first, m.writes_pitch, count * m.queries,
                 m.heads * m.value_columns, m.writes, false);
        clock.lap(PRODUCTS);
    }
    for (int n = 0; n < count; n++) {
        const int64_t* tokens = batch.tokens + (start + n) * m.positions;
        const long at = start + n;
        float* out = first + n * rows;
        if (!m.project && !m.output_t)
            attention_forward(m, tokens, batch.key(ATTENTION, at), t.attention, watch,
                              t.weights.data + (slot + n) * weight_at(m, m.heads, 0), out);
        clock.lap(ATTEND);
        if (!bare(m))
            branch_forward(m,
                           {ATTENTION_BRANCH, batch.key(ATTENTION_BRANCH, at), m.offset, tokens,
                            m.project ? t.dropped.input.data + n * rows : nullptr, out, out,
                            deviation + n * m.queries},
                           t.keep.data);
        clock.lap(ROWWISE);
    }
    if (!m.units) return first;
    const int total_rows = count * m.queries;
    multiply({t.first.data, m.writes_pitch, 1}, m.hidden_t, m.units_pitch, t.hidden.data, m.units_pitch, total_rows,
             m.writes, m.units, false);
    clock.lap(PRODUCTS);
    for (int n = 0; n < count; n++)
        relu_forward(m, batch.key(MLP, start + n), t.hidden.data + (long)n * m.queries * m.units_pitch, t.keep.data);
    clock.lap(ROWWISE);
    multiply({t.hidden.data, m.units_pitch, 1}, m.back_t, m.writes_pitch, t.second.data, m.writes_pitch, total_rows,
             m.units, m.writes, false);
    clock.lap(PRODUCTS);
    for (int n = 0; n < count; n++)
        branch_forward(m,
                       {MLP_BRANCH, batch.key(MLP_BRANCH, start + n), m.back_bias, nullptr, nullptr, t.first.data + n * rows,
                        t.second.data + n * rows, t.second_deviation.data + n * m.queries},
                       t.keep.data);
    clock.lap(ROWWISE);
    return t.second.data;
}

static double train_together(const Model& m, const Batch& batch, const Gradients& to, long start, int count, int slot,
                             Tile& t, Stopwatch& clock) {
    const int rows = count * m.queries;
    const long per_sequence = (long)m.queries * m.writes_pitch;
    float* stream = forward(m, batch, start, count, slot, nullptr, t, clock);
    const int64_t* targets = batch.targets + start * m.queries;
    float *grad = t.grad.data, *later = nullptr;
    double loss;
    if (m.read_t) {
        float* logits = t.logits.data;
        multiply({stream, m.writes_pitch, 1}, m.read_t, m.read_pitch, logits, m.read_pitch, rows, m.writes,
                 m.dictionary, false);
        clock.lap(PRODUCTS);
        loss = cross_entropy(m, targets, batch.weight, logits, m.read_pitch, rows, to.read_bias);
        clock.lap(LOSS);
        multiply({stream, 1, m.writes_pitch}, logits, m.read_pitch, to.read_t, m.read_pitch, m.writes, rows,
                 m.dictionary, true);
        multiply({logits, m.read_pitch, 1}, m.read, m.writes_pitch, grad, m.writes_pitch, rows, m.dictionary, m.writes,
                 false);
        clock.lap(PRODUCTS);
    } else {
        if (m.units)
            std::memcpy(grad, stream, sizeof(float) * rows * m.writes_pitch);
        else
            grad = stream;
        loss = cross_entropy(m, targets, batch.weight, grad, m.writes_pitch, rows, nullptr);
        clock.lap(LOSS);
    }
    if (m.units) {
        float *inner = t.second.data, *hidden_grad = t.hidden_grad.data;
        for (int n = 0; n < count; n++)
            branch_backward(m,
                            {MLP_BRANCH, batch.key(MLP_BRANCH, start + n), nullptr, nullptr, inner + n * per_sequence,
                             t.second_deviation.data + n * m.queries, nullptr, grad + n * per_sequence,
                             inner + n * per_sequence, to.back_bias},
                            to, t.keep.data);
        clock.lap(ROWWISE);
        multiply({inner, 1, m.writes_pitch}, t.hidden.data, m.units_pitch, to.back, m.units_pitch, m.writes, rows,
                 m.units, true);
        multiply({inner, m.writes_pitch, 1}, m.back, m.units_pitch, hidden_grad, m.units_pitch, rows, m.writes,
                 m.units, false);
        clock.lap(PRODUCTS);
        relu_backward(m, t.hidden.data, hidden_grad, to.hidden_bias, rows);
        clock.lap(ROWWISE);
        multiply({t.first.data, 1, m.writes_pitch}, hidden_grad, m.units_pitch, to.hidden_t, m.units_pitch, m.writes,
                 rows, m.units, true);
        multiply({hidden_grad, m.units_pitch, 1}, m.hidden, m.writes_pitch, inner, m.writes_pitch, rows, m.units,
                 m.writes, false);
        clock.lap(PRODUCTS);
        later = m.residual ? grad : nullptr;
        grad = inner;
    }
    for (int n = 0; n < count; n++) {
        const int64_t* tokens = batch.tokens + (start + n) * m.positions;
        float* here = grad + n * per_sequence;
        const uint16_t* input_keep = m.project ? t.dropped.keep.data + n * t.dropped.keep_size +
                                                     (long)(m.positions - m.queries) * m.writes
                                               : nullptr;
        if (!bare(m) || later)
            branch_backward(m,
                            {ATTENTION_BRANCH, batch.key(ATTENTION_BRANCH, start + n), tokens, input_keep,
                             t.first.data + (slot + n) * per_sequence,
                             t.first_deviation.data + (long)(slot + n) * m.queries,
                             later ? later + n * per_sequence : nullptr, here, here, to.offset},
                            to, t.keep.data);
        clock.lap(ROWWISE);
        if (!m.project && !m.output_t)
            attention_backward(m, tokens, t.attention, t.weights.data + (slot + n) * weight_at(m, m.heads, 0), here, to);
        clock.lap(ATTEND_BACK);
    }
    if (m.output_t) {
        const int columns = m.heads * m.value_columns;
        multiply({t.mixed.data, 1, m.mixed_pitch}, grad, m.writes_pitch, to.output_t, m.writes_pitch, columns, rows,
                 m.writes, true);
        multiply({grad, m.writes_pitch, 1}, m.output, m.mixed_pitch, t.mixed_grad.data, m.mixed_pitch, rows, m.writes,
                 columns, false);
        clock.lap(PRODUCTS);
        for (int n = 0; n < count; n++)
            attention_backward(m, batch.tokens + (start + n) * m.positions, t.attention,
                               t.weights.data + n * weight_at(m, m.heads, 0),
                               t.mixed_grad.data + (long)n * m.queries * m.mixed_pitch, to);
        clock.lap(ATTEND_BACK);
    }
    if (m.project) dropped_backward(m, batch, start, count, t.attention, t.dropped, t.weights.data, grad, to);
    clock.lap(ATTEND_BACK);
    return loss;
}

static double train_tile(const Model& m, const Batch& batch, const Gradients& to, long start, int count, Tile& t) {
    Stopwatch clock(batch.seconds);
    double loss = 0;
    for (int n = 0; n < count; n += m.together)
        loss += train_together(m, batch, to, start + n, count - n < m.together ? count - n : m.together, n, t, clock);
    // Where the gradient of attention's output is when everything after attention has been undone.
    const float* grads = m.output_t ? t.mixed_grad.data : m.units ? t.second.data : m.read_t ? t.grad.data : t.first.data;
    if (!m.project)
        scatter_value_gradients(m, batch.tokens + start * m.positions, count, t.weights.data, grads, to.value);
    clock.lap(ATTEND_BACK);
    return loss;
}

// Move a chunk's sums into double precision, and start the next chunk from zero.
static void drain(float* part, double* sum, long count) {
    for (long i = 0; i < count; i++) {
        sum[i] += (double)part[i];
        part[i] = 0;
    }
}

static double train(const Model& m, const Batch& batch, const Gradients& to) {
    Tile tile(m);
    double loss = 0;
    for (long from = batch.first; from < batch.last; from += m.chunk) {
        const long end = from + m.chunk < batch.last ? from + m.chunk : batch.last;
        for (long at = from; at < end; at += m.tile)
            loss += train_tile(m, batch, to, at, (int)(end - at < m.tile ? end - at : m.tile), tile);
        Stopwatch clock(batch.seconds);
        drain(to.part, to.total, to.size);
        clock.lap(SUMS);
    }
    return loss;
}

static void evaluate(const Model& m, const Batch& batch, const Attended& watch) {
    Tile tile(m);
    for (long at = batch.first; at < batch.last; at += m.tile) {
        const int count = (int)(batch.last - at < m.tile ? batch.last - at : m.tile), rows = count * m.queries;
        Stopwatch clock(batch.seconds);
        const float* stream = forward(m, batch, at, count, 0, &watch, tile, clock);
        long pitch = m.writes_pitch;
        if (m.read_t) {
            pitch = m.read_pitch;
            multiply({stream, m.writes_pitch, 1}, m.read_t, pitch, tile.logits.data, pitch, rows, m.writes,
                     m.dictionary, false);
            stream = tile.logits.data;
        }
        float* out = watch.logits + (at - batch.first) * m.queries * m.dictionary;
        for (int n = 0; n < rows; n++)
            for (int c = 0; c < m.dictionary; c++)
                out[(long)n * m.dictionary + c] = stream[n * pitch + c] + (m.read_bias ? m.read_bias[c] : 0);
        drain(watch.map, watch.map_total, weight_at(m, m.heads, 0));
    }
}

static const Functions functions = {train, evaluate, draw_keep};
