// The sums of the stream, row by row: what a branch writes, dropped, plus what the residual connection carries, and the
// layer norm of that sum. A norm's gain and shift are folded into what reads it, so a row is only normalised here.

constexpr int TOGETHER = 4;  // rows that are normalised together: the steps of one row wait for each other

// Rows with a mean and a spread of their own become rows with mean 0 and variance 1. `sums` add up to each row's sum.
struct Normalising {
    const float* from;
    float* to;
    long pitch;
    int width;
    float epsilon;
    float* inverse_deviation;
};

static void normalise(const Normalising& io, const Floats* sums, int count) {
    const int last = (io.width - 1) / LANES * LANES;
    const Ints tail = first_lanes(io.width - last);
    float means[TOGETHER];
    Floats squares[TOGETHER];
    for (int n = 0; n < count; n++) means[n] = total(sums[n]) / (float)io.width;
    for (int n = 0; n < count; n++) {
        squares[n] = Floats{};
        for (int c = 0; c <= last; c += LANES) {
            Floats y = load<Floats>(io.from + n * io.pitch + c) - means[n];
            if (c == last) y = masked(y, tail);
            squares[n] += y * y;
        }
    }
    for (int n = 0; n < count; n++)
        io.inverse_deviation[n] = 1.0f / std::sqrt(total(squares[n]) / (float)io.width + io.epsilon);
    for (int n = 0; n < count; n++)
        for (int c = 0; c <= last; c += LANES) {
            Floats y = load<Floats>(io.from + n * io.pitch + c) - means[n];
            if (c == last) y = masked(y, tail);
            store(io.to + n * io.pitch + c, y * io.inverse_deviation[n]);
        }
}

// Where one query of one sequence lies in the input's table and in its gradient: token row and position row.
struct InputRows {
    long token, position;
    InputRows(const Block& m, const int64_t* tokens, int at) {
        token = tokens[at] * m.stream_pitch;
        position = (long)(m.token_rows + at) * m.stream_pitch;
    }
};

// One sum of one sequence, in place: `rows` hold what the branch wrote and become the sum, normalised under POST.
struct SumForward {
    Site site = EMBEDDING;
    Norm norm = NONE;
    uint64_t key = 0;
    const float* offset = nullptr;       // added to the branch before it is dropped
    const int64_t* tokens = nullptr;     // carried: the input, from its table,
    const float* carried = nullptr;      //   or these rows,
    long carried_pitch = 0;
    const float *gain = nullptr, *shift = nullptr;  // times the gain and plus the shift of the norm they come from
    float* rows = nullptr;
    float* normalised = nullptr;         // under PRE: the sum's norm, which branches read
    float* inverse_deviation = nullptr;
};

static void sum_forward(const Block& m, const SumForward& io, uint16_t* keep) {
    const Drop drop = m.drops[io.site];
    const int last = (m.writes - 1) / LANES * LANES;
    const Ints tail = first_lanes(m.writes - last);
    const Floats scale = splat<Floats>(drop.scale);
    if (drop.threshold) draw_keep(io.key, m.queries * m.writes, drop.threshold, keep);
    Floats sums[TOGETHER];
    for (int q = 0; q < m.queries; q++) {
        float* row = io.rows + (long)q * m.writes_pitch;
        const float* carried = io.carried + (long)q * io.carried_pitch;
        const uint16_t* bits = keep + (long)q * m.writes;
        Floats sum = {};
        for (int c = 0; c <= last; c += LANES) {
            Floats y = load<Floats>(row + c);
            if (io.offset) y += load<Floats>(io.offset + c);
            if (drop.threshold) y = masked(y * scale, widen(bits + c));
            if (io.carried) {
                if (io.gain)
                    y += load<Floats>(carried + c) * load<Floats>(io.gain + c) + load<Floats>(io.shift + c);
                else
                    y += load<Floats>(carried + c);
            } else if (io.tokens) {
                const InputRows at(m, io.tokens, m.positions - m.queries + q);
                y += load<Floats>(m.stream + at.token + c) + load<Floats>(m.stream + at.position + c);
            }
            if (c == last) y = masked(y, tail);
            sum += y;
            store(row + c, y);
        }
        const int waiting = q % TOGETHER;
        sums[waiting] = sum;
        if (!io.norm || (waiting < TOGETHER - 1 && q < m.queries - 1)) continue;
        const long from = (long)(q - waiting) * m.writes_pitch;
        Normalising rows;
        rows.from = io.rows + from, rows.to = (io.norm == PRE ? io.normalised : io.rows) + from;
        rows.pitch = m.writes_pitch, rows.width = m.writes, rows.epsilon = m.epsilon;
        rows.inverse_deviation = io.inverse_deviation + q - waiting;
        normalise(rows, sums, waiting + 1);
    }
}

// The gradient of a stream that was handed on: with respect to what later parts read of it, and, from the query
// `later_from` on and in the first `later_columns` columns, to what a later sum carried.
struct StreamGradient {
    float* read = nullptr;
    const float* later = nullptr;
    int later_from = 0, later_columns = 0, later_rows = 0;  // rows of a sequence
    long later_pitch = 0;
};

// `grads` of one sequence: with respect to what is read of the sum, in; to the sum itself, out. `branch_grads` receives
// the gradient of the branch.
struct SumBackward {
    Site site = EMBEDDING;
    Norm norm = NONE;
    uint64_t key = 0;
    const float* later = nullptr;
    int later_from = 0, later_columns = 0;
    long later_pitch = 0;
    const float* gain = nullptr;                         // of this sum's norm, where the later sum carried it
    float *gain_sum = nullptr, *shift_sum = nullptr;
    const int64_t* tokens = nullptr;                     // the input was carried: its gradient goes to the table
    const uint16_t* input_keep = nullptr;                //   where it was kept; null where nothing is dropped
    float* stream_sum = nullptr;
    const float *normalised = nullptr, *inverse_deviation = nullptr;
    float *grads = nullptr, *branch_grads = nullptr, *offset_sum = nullptr;
};

static void sum_backward(const Block& m, const SumBackward& io, uint16_t* keep) {
    const Drop drop = m.drops[io.site];
    const int last = (m.writes - 1) / LANES * LANES;
    const Ints tail = first_lanes(m.writes - last);
    const Floats scale = splat<Floats>(drop.scale), input_scale = splat<Floats>(m.drops[EMBEDDING].scale);
    if (drop.threshold) draw_keep(io.key, m.queries * m.writes, drop.threshold, keep);
    for (int q = 0; q < m.queries; q++) {
        const long from = (long)q * m.writes_pitch;
        const float* hat = io.normalised + from;
        float* grad = io.grads + from;
        const uint16_t* bits = keep + (long)q * m.writes;
        const float* later = io.later && q >= io.later_from ? io.later + (q - io.later_from) * io.later_pitch : nullptr;
        Floats sum = {}, along = {};
        if ((later && io.norm != PRE) || io.norm)
            for (int c = 0; c <= last; c += LANES) {
                Floats g = load<Floats>(grad + c);
                const Floats x = load<Floats>(hat + c);
                if (later && io.norm != PRE && c < io.later_columns) {
                    const Floats l = load<Floats>(later + c);
                    if (io.gain) {
                        add_to(io.gain_sum + c, l * x);
                        add_to(io.shift_sum + c, l);
                        g += l * load<Floats>(io.gain + c);
                    } else {
                        g += l;
                    }
                }
                sum += g;
                along += g * x;
                store(grad + c, g);
            }
        const float mean = io.norm ? total(sum) / (float)m.writes : 0;
        const float slope = io.norm ? total(along) / (float)m.writes : 0;
        const float inverse = io.norm ? io.inverse_deviation[q] : 1;
        for (int c = 0; c <= last; c += LANES) {
            Floats g = load<Floats>(grad + c);
            if (io.norm) g = (g - mean - load<Floats>(hat + c) * slope) * inverse;
            if (later && io.norm == PRE && c < io.later_columns) g += load<Floats>(later + c);
            if (c == last) g = masked(g, tail);
            store(grad + c, g);
            if (io.tokens) {
                const InputRows at(m, io.tokens, m.positions - m.queries + q);
                Floats x = g;
                if (io.input_keep) x = masked(g * input_scale, widen(io.input_keep + (long)q * m.writes + c));
                add_to(io.stream_sum + at.token + c, x);
                add_to(io.stream_sum + at.position + c, x);
            }
            if (drop.threshold) g = masked(g * scale, widen(bits + c));
            if (io.offset_sum) add_to(io.offset_sum + c, g);
            store(io.branch_grads + from + c, g);
        }
    }
}

// The hidden units of one sequence, in place: bias, ReLU, then dropout. What is kept and on stays positive, all else
// becomes zero, so the backward pass needs no mask.
static void relu_forward(const Block& m, uint64_t key, float* rows, uint16_t* keep) {
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

static void relu_backward(const Block& m, const float* rows, float* grads, float* bias_sum, int count) {
    const Floats scale = splat<Floats>(m.drops[MLP].scale);
    for (long at = 0; at < (long)count * m.units_pitch; at += m.units_pitch)
        for (int c = 0; c < m.units; c += LANES) {
            const Floats x = load<Floats>(rows + at + c);
            const Floats g = x == 0.0f ? Floats{} : load<Floats>(grads + at + c) * scale;
            store(grads + at + c, g);
            add_to(bias_sum + c, g);
        }
}

// The input of a dense first block, [position, reads] of one sequence: token row plus position row, dropped, and its
// norm where the block reads that.
static void input_forward(const Block& m, const int64_t* tokens, uint64_t key, float* rows, float* normalised,
                          float* inverse_deviation, uint16_t* keep) {
    const Drop drop = m.drops[EMBEDDING];
    const int last = (m.reads - 1) / LANES * LANES;
    const Ints tail = first_lanes(m.reads - last);
    const Floats scale = splat<Floats>(drop.scale);
    if (drop.threshold) draw_keep(key, m.positions * m.reads, drop.threshold, keep);
    Floats sums[TOGETHER];
    for (int s = 0; s < m.positions; s++) {
        const InputRows at(m, tokens, s);
        float* row = rows + (long)s * m.reads_pitch;
        Floats sum = {};
        for (int c = 0; c <= last; c += LANES) {
            Floats x = load<Floats>(m.stream + at.token + c) + load<Floats>(m.stream + at.position + c);
            if (drop.threshold) x = masked(x * scale, widen(keep + (long)s * m.reads + c));
            if (c == last) x = masked(x, tail);
            sum += x;
            store(row + c, x);
        }
        const int waiting = s % TOGETHER;
        sums[waiting] = sum;
        if (!normalised || (waiting < TOGETHER - 1 && s < m.positions - 1)) continue;
        const long from = (long)(s - waiting) * m.reads_pitch;
        Normalising io;
        io.from = rows + from, io.to = normalised + from;
        io.pitch = m.reads_pitch, io.width = m.reads, io.epsilon = m.epsilon;
        io.inverse_deviation = inverse_deviation + s - waiting;
        normalise(io, sums, waiting + 1);
    }
}

// Its gradient, from that of what the block reads and carries, into the table's rows.
static void input_backward(const Block& m, const int64_t* tokens, const SumBackward& io, const uint16_t* keep) {
    const Drop drop = m.drops[EMBEDDING];
    const int last = (m.reads - 1) / LANES * LANES;
    const Ints tail = first_lanes(m.reads - last);
    const Floats scale = splat<Floats>(drop.scale);
    for (int s = 0; s < m.positions; s++) {
        const InputRows at(m, tokens, s);
        const long from = (long)s * m.reads_pitch;
        const float *grad = io.grads + from, *hat = io.normalised + from;
        const float* later = io.later && s >= io.later_from ? io.later + (s - io.later_from) * io.later_pitch : nullptr;
        Floats sum = {}, along = {};
        if (io.norm)
            for (int c = 0; c <= last; c += LANES) {
                Floats g = load<Floats>(grad + c);
                if (c == last) g = masked(g, tail);
                sum += g;
                along += g * load<Floats>(hat + c);
            }
        const float mean = io.norm ? total(sum) / (float)m.reads : 0;
        const float slope = io.norm ? total(along) / (float)m.reads : 0;
        const float inverse = io.norm ? io.inverse_deviation[s] : 1;
        for (int c = 0; c <= last; c += LANES) {
            Floats g = load<Floats>(grad + c);
            if (io.norm) g = (g - mean - load<Floats>(hat + c) * slope) * inverse;
            if (later && c < io.later_columns) g += load<Floats>(later + c);
            if (c == last) g = masked(g, tail);
            if (drop.threshold) g = masked(g * scale, widen(keep + (long)s * m.reads + c));
            add_to(io.stream_sum + at.token + c, g);
            add_to(io.stream_sum + at.position + c, g);
        }
    }
}
