// A whole decoder for a range of sequences: block after block, loss, and back.
//
// The life of a tile's buffers, for one block; what the next block reads is what this one leaves.
//   input            form                     the token and position rows of a dense first block, kept for its sums
//   rows             attend -> back           queries, keys, values; `asked` are the rows of the stream that ask
//   weights          attend -> back           attention, drops as signs; then only kept weights, for the values' table
//   mixed            attend -> back           values summed by the weights, where an output matrix follows
//   after_attention  attend -> sum -> MLP     what the heads wrote; then the sum; under POST its norm. Backward it holds
//                                             its own gradient where nothing follows attention
//   hidden           MLP -> back              hidden units
//   after_mlp        MLP -> sum -> next       what the MLP wrote; then the sum; under POST its norm. Backward first the
//                                             gradient of the branch, then of what the MLP read
//   ..._normalised   sum -> back              under PRE: what branches read of a sum
//   ..._deviation    sum -> back              inverse deviations of normed sums
// Gradients: `grad` starts at the logits and holds the gradient of the last sum; each block leaves that of the stream
// before it in `GradientTile::stream`, and that of the sum which carries this stream where its own `grad` was.

INLINE long per_query(const Block& m) { return (long)m.tile * m.queries * m.writes_pitch; }
INLINE long per_position(const Block& m) { return (long)m.tile * m.positions * m.reads_pitch; }

// Gradients on their way back through one block.
struct GradientTile {
    Scratch<float> hidden, mixed, branch, stream, asked, queries, keys, values;
    explicit GradientTile(const Block& m)
        : hidden((long)m.tile * m.queries * m.units_pitch),
          mixed(m.output_t ? (long)m.tile * m.queries * m.mixed_pitch : 0),
          branch(m.source == DENSE ? per_query(m) : 0),
          stream(m.source == DENSE ? per_position(m) : 0),
          asked(m.source == DENSE && m.queries < m.positions ? (long)m.tile * m.queries * m.reads_pitch : 0),
          queries(m.source >= ROWS ? (long)m.tile * m.queries * m.query_pitch : 0),
          keys(m.source >= ROWS && !keys_are_the_stream(m) ? (long)m.tile * m.positions * m.key_pitch : 0),
          values(m.source >= ROWS ? (long)m.tile * m.positions * m.values_pitch : 0) {}
};

// Activations and working memory of one block for a tile of sequences. Activations are overwritten by their gradients
// as soon as nothing needs them.
struct BlockTile {
    AttentionScratch attention;
    DroppedTile dropped;
    RowsTile rows;
    GradientTile grads;
    Scratch<float> input, input_normalised, input_deviation;
    Scratch<float> weights, mixed, after_attention, after_attention_normalised, attention_deviation;
    Scratch<float> hidden, after_mlp, after_mlp_normalised, mlp_deviation;
    Scratch<uint16_t> keep, input_keep;
    long input_keep_size;
    explicit BlockTile(const Block& m)
        : attention(m),
          dropped(m, m.source == DROPPED),
          rows(m, m.source >= ROWS),
          grads(m),
          input(m.first && m.source == DENSE ? per_position(m) : 0),
          input_normalised(m.first && m.source == DENSE && m.input_norm ? per_position(m) : 0),
          input_deviation((long)m.tile * m.positions),
          weights(m.tile * weights_size(m)),
          mixed(m.output_t ? (long)m.tile * m.queries * m.mixed_pitch : 0),
          after_attention(per_query(m)),
          after_attention_normalised(m.attention_norm == PRE ? per_query(m) : 0),
          attention_deviation((long)m.tile * m.queries),
          hidden((long)m.tile * m.queries * m.units_pitch),
          after_mlp(m.units ? per_query(m) : 0),
          after_mlp_normalised(m.mlp_norm == PRE ? per_query(m) : 0),
          mlp_deviation((long)m.tile * m.queries),
          keep((long)m.queries * (m.writes > m.units ? m.writes : m.units) + 128),
          input_keep(m.first && m.source == DENSE ? m.tile * keep_size(m) : 0),
          input_keep_size(keep_size(m)) {}
    static long keep_size(const Block& m) { return (long)m.positions * m.reads + 128; }
};

struct Tile {
    int blocks;
    BlockTile* block[MOST_BLOCKS];
    Scratch<float> logits, grad;
    explicit Tile(const Model& model)
        : blocks(model.blocks),
          logits(last(model).read_t ? (long)last(model).tile * last(model).queries * last(model).read_pitch : 0),
          grad(per_query(last(model))) {
        for (int b = 0; b < blocks; b++) block[b] = new BlockTile(model.block[b]);
    }
    ~Tile() {
        for (int b = 0; b < blocks; b++) delete block[b];
    }
    Tile(const Tile&) = delete;
    Tile& operator=(const Tile&) = delete;
    static const Block& last(const Model& model) { return model.block[model.blocks - 1]; }
};

// A stream that one part hands to the next: what is read of it, and what a residual connection carries, with the gain
// and shift that are still to be applied to it. Rows are [sequence * position].
struct Stream {
    float *read = nullptr, *carried = nullptr;
    const float *gain = nullptr, *shift = nullptr;
};

// Whether attention's output is the stream after it as it is.
INLINE bool bare(const Block& m) {
    return !m.residual && !m.attention_norm && !m.offset && !m.drops[ATTENTION_BRANCH].threshold;
}

static void attend_together(const Block& m, const Sequences& at, const Stream& in, const Attended* watch, BlockTile& t,
                            float* after, Stopwatch& clock) {
    const long weights = weights_size(m), mixed = (long)m.queries * m.mixed_pitch;
    if (m.source == DROPPED) dropped_forward(m, at, t.attention, t.dropped, t.weights.data, after);
    if (m.source == ROWS) gather_tile(m, at.tokens(m, 0), at.count, t.rows);
    if (m.source == DENSE) {
        clock.lap(ATTEND);
        project_tile(m, in.read, at.count, t.rows);
        clock.lap(PRODUCTS);
    }
    if (m.source >= ROWS)
        for (int n = 0; n < at.count; n++)
            rows_forward(m, SequenceRows(m, t.rows, in.read, n), at.key(ATTENTION, n), t.attention, watch,
                         t.weights.data + n * weights, (m.output_t ? t.mixed.data : after) + n * mixed);
    if (!m.output_t) return;
    if (m.source == TABLES)
        for (int n = 0; n < at.count; n++)
            attention_forward(m, at.tokens(m, n), at.key(ATTENTION, n), t.attention, watch, t.weights.data + n * weights,
                              t.mixed.data + n * mixed);
    clock.lap(ATTEND);
    multiply(by_rows(t.mixed.data, m.mixed_pitch), {m.output_t, m.writes_pitch}, {after, m.writes_pitch},
             {at.count * m.queries, m.heads * m.value_columns, m.writes});
    clock.lap(PRODUCTS);
}

// What the sum after attention carries: the input from its table, the input with coordinates dropped, or rows of the
// stream before the block.
static void carry(const Block& m, const Sequences& at, const Stream& in, int n, const BlockTile& t, SumForward& sum) {
    if (!m.residual) return;
    if (m.source == TABLES || m.source == ROWS) {
        sum.tokens = at.tokens(m, n);
    } else if (m.source == DROPPED) {
        sum.carried = t.dropped.input.data + (long)n * m.queries * m.writes_pitch, sum.carried_pitch = m.writes_pitch;
    } else {
        sum.carried = in.carried + ((long)(n + 1) * m.positions - m.queries) * m.reads_pitch;
        sum.carried_pitch = m.reads_pitch, sum.gain = in.gain, sum.shift = in.shift;
    }
}

// The stream after attention.
static Stream attention_part(const Block& m, const Sequences& at, const Stream& in, const Attended* watch, BlockTile& t,
                             Stopwatch& clock) {
    const long rows = (long)m.queries * m.writes_pitch;
    float* after = t.after_attention.data + at.slot * rows;
    attend_together(m, at, in, watch, t, after, clock);
    for (int n = 0; n < at.count; n++) {
        float* out = after + n * rows;
        if (m.source == TABLES && !m.output_t)
            attention_forward(m, at.tokens(m, n), at.key(ATTENTION, n), t.attention, watch,
                              t.weights.data + (at.slot + n) * weights_size(m), out);
        clock.lap(ATTEND);
        if (!bare(m)) {
            SumForward sum;
            sum.site = ATTENTION_BRANCH, sum.norm = (Norm)m.attention_norm, sum.offset = m.offset, sum.rows = out;
            sum.key = at.key(ATTENTION_BRANCH, n);
            sum.normalised = t.after_attention_normalised.data + n * rows;
            sum.inverse_deviation = t.attention_deviation.data + (long)(at.slot + n) * m.queries;
            carry(m, at, in, n, t, sum);
            sum_forward(m, sum, t.keep.data);
        }
        clock.lap(ROWWISE);
    }
    return {m.attention_norm == PRE ? t.after_attention_normalised.data : after, after, m.gain, m.shift};
}

// The stream after the block.
static Stream block_forward(const Block& m, const Sequences& at, const Stream& in, const Attended* watch, BlockTile& t,
                            Stopwatch& clock) {
    const Stream inner = attention_part(m, at, in, watch, t, clock);
    if (!m.units) return inner;
    const int rows = at.count * m.queries;
    const long per_sequence = (long)m.queries * m.writes_pitch;
    multiply(by_rows(inner.read, m.writes_pitch), {m.hidden_t, m.units_pitch}, {t.hidden.data, m.units_pitch},
             {rows, m.writes, m.units});
    clock.lap(PRODUCTS);
    for (int n = 0; n < at.count; n++)
        relu_forward(m, at.key(MLP, n), t.hidden.data + (long)n * m.queries * m.units_pitch, t.keep.data);
    clock.lap(ROWWISE);
    multiply(by_rows(t.hidden.data, m.units_pitch), {m.back_t, m.writes_pitch}, {t.after_mlp.data, m.writes_pitch},
             {rows, m.units, m.writes});
    clock.lap(PRODUCTS);
    for (int n = 0; n < at.count; n++) {
        SumForward sum;
        sum.site = MLP_BRANCH, sum.norm = (Norm)m.mlp_norm, sum.offset = m.back_bias;
        sum.rows = t.after_mlp.data + n * per_sequence, sum.key = at.key(MLP_BRANCH, n);
        sum.normalised = t.after_mlp_normalised.data + n * per_sequence;
        sum.inverse_deviation = t.mlp_deviation.data + (long)n * m.queries;
        if (m.residual) {
            sum.carried = inner.carried + n * per_sequence, sum.carried_pitch = m.writes_pitch;
            sum.gain = inner.gain, sum.shift = inner.shift;
        }
        sum_forward(m, sum, t.keep.data);
    }
    clock.lap(ROWWISE);
    return {m.mlp_norm == PRE ? t.after_mlp_normalised.data : t.after_mlp.data, t.after_mlp.data, m.out_gain, m.out_shift};
}

// The input of the first block where it is formed at all.
static Stream input_stream(const Block& m, const Sequences& at, BlockTile& t) {
    if (m.source != DENSE) return {};
    const long rows = (long)m.positions * m.reads_pitch;
    for (int n = 0; n < at.count; n++)
        input_forward(m, at.tokens(m, n), at.key(EMBEDDING, n), t.input.data + n * rows,
                      m.input_norm ? t.input_normalised.data + n * rows : nullptr,
                      t.input_deviation.data + (long)n * m.positions, t.input_keep.data + n * t.input_keep_size);
    return {m.input_norm ? t.input_normalised.data : t.input.data, t.input.data, nullptr, nullptr};
}

// The part of a stream's gradient that a later sum carried, for one sequence.
static void later_of(const StreamGradient& grad, int n, SumBackward& sum) {
    if (!grad.later) return;
    sum.later = grad.later + (long)n * grad.later_rows * grad.later_pitch;
    sum.later_from = grad.later_from, sum.later_columns = grad.later_columns, sum.later_pitch = grad.later_pitch;
}

// From the gradient of the stream after the MLP to that of the stream before it.
static StreamGradient mlp_backward(const Block& m, const Sequences& at, const StreamGradient& grad, const Gradients& to,
                                   BlockTile& t, Stopwatch& clock) {
    const int rows = at.count * m.queries;
    const long per_sequence = (long)m.queries * m.writes_pitch;
    const float* read = m.attention_norm == PRE ? t.after_attention_normalised.data : t.after_attention.data;
    float *branch = t.after_mlp.data, *hidden_grad = t.grads.hidden.data;
    for (int n = 0; n < at.count; n++) {
        SumBackward sum;
        sum.site = MLP_BRANCH, sum.norm = (Norm)m.mlp_norm, sum.key = at.key(MLP_BRANCH, n);
        later_of(grad, n, sum);
        sum.gain = m.out_gain, sum.gain_sum = to.out_gain, sum.shift_sum = to.out_shift;
        sum.normalised = (m.mlp_norm == PRE ? t.after_mlp_normalised.data : branch) + n * per_sequence;
        sum.inverse_deviation = t.mlp_deviation.data + (long)n * m.queries;
        sum.grads = grad.read + n * per_sequence, sum.branch_grads = branch + n * per_sequence;
        sum.offset_sum = to.back_bias;
        sum_backward(m, sum, t.keep.data);
    }
    clock.lap(ROWWISE);
    multiply(transposed(branch, m.writes_pitch), {t.hidden.data, m.units_pitch}, {to.back, m.units_pitch, ADD},
             {m.writes, rows, m.units});
    multiply(by_rows(branch, m.writes_pitch), {m.back, m.units_pitch}, {hidden_grad, m.units_pitch},
             {rows, m.writes, m.units});
    clock.lap(PRODUCTS);
    relu_backward(m, t.hidden.data, hidden_grad, to.hidden_bias, rows);
    clock.lap(ROWWISE);
    multiply(transposed(read, m.writes_pitch), {hidden_grad, m.units_pitch}, {to.hidden_t, m.units_pitch, ADD},
             {m.writes, rows, m.units});
    multiply(by_rows(hidden_grad, m.units_pitch), {m.hidden, m.writes_pitch}, {branch, m.writes_pitch},
             {rows, m.units, m.writes});
    clock.lap(PRODUCTS);
    StreamGradient before;
    before.read = branch;
    if (m.residual) {
        before.later = grad.read, before.later_pitch = m.writes_pitch, before.later_rows = m.queries;
        before.later_columns = m.writes;
    }
    return before;
}

// Undo the sum after attention, in place: afterwards `grad.read` is the gradient of the sum. Returns that of the branch,
// in memory of its own where both are still needed. Sequence by sequence with attention on tables, which follows at once.
static float* attention_sum_backward(const Block& m, const Sequences& at, const StreamGradient& grad, const Gradients& to,
                                     BlockTile& t, Stopwatch& clock) {
    const long per_sequence = (long)m.queries * m.writes_pitch;
    const float* normalised = m.attention_norm == PRE ? t.after_attention_normalised.data
                                                      : t.after_attention.data + at.slot * per_sequence;
    const bool both = m.source == DENSE && m.residual && m.drops[ATTENTION_BRANCH].threshold;
    float* branch = both ? t.grads.branch.data : grad.read;
    for (int n = 0; n < at.count; n++) {
        if (!bare(m) || grad.later) {
            SumBackward sum;
            sum.site = ATTENTION_BRANCH, sum.norm = (Norm)m.attention_norm, sum.key = at.key(ATTENTION_BRANCH, n);
            later_of(grad, n, sum);
            sum.gain = m.gain, sum.gain_sum = to.gain, sum.shift_sum = to.shift;
            if (m.residual && m.source != DENSE) sum.tokens = at.tokens(m, n), sum.stream_sum = to.stream;
            if (m.source == DROPPED)
                sum.input_keep =
                    t.dropped.keep.data + n * t.dropped.keep_size + (long)(m.positions - m.queries) * m.writes;
            sum.normalised = normalised + n * per_sequence;
            sum.inverse_deviation = t.attention_deviation.data + (long)(at.slot + n) * m.queries;
            sum.grads = grad.read + n * per_sequence, sum.branch_grads = branch + n * per_sequence;
            sum.offset_sum = to.offset;
            sum_backward(m, sum, t.keep.data);
        }
        clock.lap(ROWWISE);
        if (m.source == TABLES && !m.output_t)
            attention_backward(m, at.tokens(m, n), t.attention,
                               t.weights.data + (at.slot + n) * weights_size(m), branch + n * per_sequence, to);
        clock.lap(ATTEND_BACK);
    }
    return branch;
}

// Gradients of queries, keys and values, and from them those of tables or of the stream.
static StreamGradient rows_part_backward(const Block& m, const Sequences& at, const Stream& in, const float* mixed_grads,
                                         const StreamGradient& sum, const Gradients& to, BlockTile& t,
                                         Stopwatch& clock) {
    RowGradients grads;
    grads.queries = t.grads.queries.data, grads.values = t.grads.values.data;
    grads.keys = keys_are_the_stream(m) ? t.grads.stream.data : t.grads.keys.data;
    for (int n = 0; n < at.count; n++)
        rows_backward(m, SequenceRows(m, t.rows, in.read, n), t.attention, t.weights.data + n * weights_size(m),
                      mixed_grads + (long)n * m.queries * m.mixed_pitch,
                      {grads.queries + (long)n * m.queries * m.query_pitch,
                       grads.keys + (long)n * m.positions * m.key_pitch,
                       grads.values + (long)n * m.positions * m.values_pitch},
                      to.lag);
    if (m.source == ROWS) scatter_tile(m, at.tokens(m, 0), at.count, grads, to);
    clock.lap(ATTEND_BACK);
    StreamGradient before;
    if (m.source == ROWS) return before;
    project_tile_backward(m, in.read, at.count, t.rows, grads, to,
                          {t.grads.stream.data, t.grads.asked.data});
    clock.lap(PRODUCTS);
    before.read = t.grads.stream.data;
    if (m.residual) {
        before.later = sum.read, before.later_pitch = m.writes_pitch, before.later_rows = m.queries;
        before.later_from = m.positions - m.queries, before.later_columns = m.writes;
    }
    return before;
}

// What undoing a block leaves: the gradient of the stream before it (a first block on tables has added that to their
// gradients), and where the gradient of what its heads mixed lies.
struct Undone {
    StreamGradient before;
    const float* mixed_grads = nullptr;
};

static Undone block_backward(const Block& m, const Sequences& at, const Stream& in, StreamGradient grad,
                             const Gradients& to, BlockTile& t, Stopwatch& clock) {
    if (m.units) grad = mlp_backward(m, at, grad, to, t, clock);
    float* branch = attention_sum_backward(m, at, grad, to, t, clock);
    const int rows = at.count * m.queries, columns = m.heads * m.value_columns;
    Undone undone;
    undone.mixed_grads = branch;
    if (m.output_t) {
        multiply(transposed(t.mixed.data, m.mixed_pitch), {branch, m.writes_pitch}, {to.output_t, m.writes_pitch, ADD},
                 {columns, rows, m.writes});
        multiply(by_rows(branch, m.writes_pitch), {m.output, m.mixed_pitch}, {t.grads.mixed.data, m.mixed_pitch},
                 {rows, m.writes, columns});
        clock.lap(PRODUCTS);
        undone.mixed_grads = t.grads.mixed.data;
    }
    if (m.source == TABLES && m.output_t)
        for (int n = 0; n < at.count; n++)
            attention_backward(m, at.tokens(m, n), t.attention, t.weights.data + n * weights_size(m),
                               t.grads.mixed.data + (long)n * m.queries * m.mixed_pitch, to);
    if (m.source == DROPPED) dropped_backward(m, at, t.attention, t.dropped, t.weights.data, branch, to);
    if (m.source >= ROWS)
        undone.before = rows_part_backward(m, at, in, undone.mixed_grads, grad, to, t, clock);
    clock.lap(ATTEND_BACK);
    return undone;
}

// Gradients of a dense first block's input, into the rows of the table.
static void input_gradients(const Block& m, const Sequences& at, const StreamGradient& grad, const Gradients& to,
                            BlockTile& t) {
    const long rows = (long)m.positions * m.reads_pitch;
    for (int n = 0; n < at.count; n++) {
        SumBackward sum;
        sum.norm = (Norm)m.input_norm;
        later_of(grad, n, sum);
        sum.normalised = t.input_normalised.data + n * rows;
        sum.inverse_deviation = t.input_deviation.data + (long)n * m.positions;
        sum.grads = grad.read + n * rows, sum.stream_sum = to.stream;
        input_backward(m, at.tokens(m, n), sum, t.input_keep.data + n * t.input_keep_size);
    }
}

// The summed loss of some sequences, from the stream after the last block; leaves the gradient of that stream.
static double read_out(const Block& m, const Sequences& at, float* stream, const Gradients& to, Tile& t,
                       StreamGradient& grad, Stopwatch& clock) {
    const int rows = at.count * m.queries;
    const int64_t* targets = at.batch.targets + at.start * m.queries;
    grad.read = t.grad.data;
    if (!m.read_t) {
        if (m.units)
            std::memcpy(grad.read, stream, sizeof(float) * rows * m.writes_pitch);
        else
            grad.read = stream;
        const double loss = cross_entropy(m, targets, at.batch.weight, grad.read, m.writes_pitch, rows, nullptr);
        clock.lap(LOSS);
        return loss;
    }
    float* logits = t.logits.data;
    multiply(by_rows(stream, m.writes_pitch), {m.read_t, m.read_pitch}, {logits, m.read_pitch},
             {rows, m.writes, m.dictionary});
    clock.lap(PRODUCTS);
    const double loss = cross_entropy(m, targets, at.batch.weight, logits, m.read_pitch, rows, to.read_bias);
    clock.lap(LOSS);
    multiply(transposed(stream, m.writes_pitch), {logits, m.read_pitch}, {to.read_t, m.read_pitch, ADD},
             {m.writes, rows, m.dictionary});
    multiply(by_rows(logits, m.read_pitch), {m.read, m.writes_pitch}, {grad.read, m.writes_pitch},
             {rows, m.dictionary, m.writes});
    clock.lap(PRODUCTS);
    return loss;
}

struct Step {
    double loss = 0;
    const float* mixed_grads = nullptr;  // of the first block
};

static Step train_together(const Model& model, const Batch* batches, const Gradients* to, Sequences at, Tile& t,
                           Stopwatch& clock) {
    const int last = (int)model.blocks - 1;
    Stream streams[MOST_BLOCKS + 1];
    streams[0] = input_stream(model.block[0], at, *t.block[0]);
    clock.lap(ROWWISE);
    for (int b = 0; b <= last; b++)
        streams[b + 1] = block_forward(model.block[b], {batches[b], at.start, at.count, at.slot}, streams[b], nullptr,
                                       *t.block[b], clock);
    Step step;
    StreamGradient grad;
    step.loss = read_out(model.block[last], at, streams[last + 1].read, to[last], t, grad, clock);
    for (int b = last; b >= 0; b--) {
        const Undone undone = block_backward(model.block[b], {batches[b], at.start, at.count, at.slot}, streams[b], grad,
                                             to[b], *t.block[b], clock);
        grad = undone.before, step.mixed_grads = undone.mixed_grads;
    }
    if (model.block[0].source == DENSE) input_gradients(model.block[0], at, grad, to[0], *t.block[0]);
    clock.lap(ROWWISE);
    return step;
}

static double train_tile(const Model& model, const Batch* batches, const Gradients* to, long start, int count, Tile& t) {
    const Block& first = model.block[0];
    Stopwatch clock(batches[0].seconds);
    Step step;
    double loss = 0;
    for (int n = 0; n < count; n += first.together) {
        const int together = count - n < first.together ? count - n : first.together;
        step = train_together(model, batches, to, {batches[0], start + n, together, n}, t, clock);
        loss += step.loss;
    }
    // Without anything after attention sequences went one by one, each with a slot of its own.
    if (first.together < first.tile) step.mixed_grads = t.block[0]->after_attention.data;
    if (first.source == TABLES)
        scatter_value_gradients(first, batches[0].tokens + start * first.positions, count, t.block[0]->weights.data,
                                step.mixed_grads, to[0].value);
    clock.lap(ATTEND_BACK);
    return loss;
}

// Move sums into double precision, and start again from zero.
static void drain(float* part, double* sum, long count) {
    for (long i = 0; i < count; i++) {
        sum[i] += (double)part[i];
        part[i] = 0;
    }
}

static double train(const Model& model, const Batch* batches, const Gradients* to) {
    Tile tile(model);
    const Block& m = model.block[0];
    const Batch& batch = batches[0];
    double loss = 0;
    for (long from = batch.first; from < batch.last; from += m.chunk) {
        const long end = from + m.chunk < batch.last ? from + m.chunk : batch.last;
        for (long at = from; at < end; at += m.tile)
            loss += train_tile(model, batches, to, at, (int)(end - at < m.tile ? end - at : m.tile), tile);
        Stopwatch clock(batch.seconds);
        drain(to->part, to->total, to->size);
        clock.lap(SUMS);
    }
    Stopwatch clock(batch.seconds);
    drain(to->part + to->size, to->total + to->size, to->seldom);
    clock.lap(SUMS);
    return loss;
}

static void evaluate(const Model& model, const Batch* batches, const Attended* watch) {
    Tile tile(model);
    const Batch& batch = batches[0];
    const Block& m = model.block[model.blocks - 1];
    for (long start = batch.first; start < batch.last; start += m.tile) {
        const int count = (int)(batch.last - start < m.tile ? batch.last - start : m.tile), rows = count * m.queries;
        Stopwatch clock(batch.seconds);
        Stream stream = input_stream(model.block[0], {batch, start, count, 0}, *tile.block[0]);
        for (int b = 0; b < model.blocks; b++) {
            const Block& block = model.block[b];
            stream = block_forward(block, {batches[b], start, count, 0}, stream, watch + b, *tile.block[b], clock);
            if (in_quads(block))
                drain_quads(block, tile.block[b]->attention.seen.data, watch[b].map_total);
            else
                drain(watch[b].map, watch[b].map_total, weight_at(block, block.heads, 0));
        }
        const float* logits = stream.read;
        long pitch = m.writes_pitch;
        if (m.read_t) {
            pitch = m.read_pitch;
            multiply(by_rows(logits, m.writes_pitch), {m.read_t, pitch}, {tile.logits.data, pitch},
                     {rows, m.writes, m.dictionary});
            logits = tile.logits.data;
        }
        float* out = watch->logits + (start - batch.first) * m.queries * m.dictionary;
        for (int n = 0; n < rows; n++)
            for (int c = 0; c < m.dictionary; c++)
                out[(long)n * m.dictionary + c] = logits[n * pitch + c] + (m.read_bias ? m.read_bias[c] : 0);
    }
}

static const Functions functions = {train, evaluate, draw_keep};
