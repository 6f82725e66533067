// A whole decoder for a range of sequences: block after block, loss, and back.

// Activations and working memory of one block for a tile of sequences. Activations are overwritten by their gradients
// as soon as nothing needs them.
struct BlockTile {
    AttentionScratch attention;
    DroppedTile dropped;
    RowsTile rows;
    Scratch<float> input, input_normalised, input_deviation;
    Scratch<float> weights, mixed, after_attention, after_attention_normalised, attention_deviation;
    Scratch<float> hidden, after_mlp, after_mlp_normalised, mlp_deviation;
    Scratch<uint16_t> keep, input_keep;
    long input_keep_size;
    explicit BlockTile(const Model& m)
        : attention(m),
          dropped(m, m.source == DROPPED),
          rows(m, m.source >= ROWS),
          input(m.first && m.source == DENSE ? per_position(m) : 0),
          input_normalised(m.first && m.source == DENSE && m.input_norm ? per_position(m) : 0),
          input_deviation((long)m.tile * m.positions),
          weights(m.tile * weight_at(m, m.heads, 0)),
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
    static long per_query(const Model& m) { return (long)m.tile * m.queries * m.writes_pitch; }
    static long per_position(const Model& m) { return (long)m.tile * m.positions * m.reads_pitch; }
    static long keep_size(const Model& m) { return (long)m.positions * m.reads + 128; }
};

// Gradients on their way back, for one block at a time.
struct GradientTile {
    Scratch<float> hidden, mixed, branch, stream, asked, queries, keys, values;
    explicit GradientTile(const Model& m)
        : hidden((long)m.tile * m.queries * m.units_pitch),
          mixed(m.output_t ? (long)m.tile * m.queries * m.mixed_pitch : 0),
          branch(m.source == DENSE ? BlockTile::per_query(m) : 0),
          stream(m.source == DENSE ? BlockTile::per_position(m) : 0),
          asked(m.source == DENSE && m.queries < m.positions ? (long)m.tile * m.queries * m.reads_pitch : 0),
          queries(m.source >= ROWS ? (long)m.tile * m.queries * m.query_pitch : 0),
          keys(m.source >= ROWS && !keys_are_the_stream(m) ? (long)m.tile * m.positions * m.key_pitch : 0),
          values(m.source >= ROWS ? (long)m.tile * m.positions * m.values_pitch : 0) {}
};

struct Tile {
    int blocks;
    BlockTile* block[MOST_BLOCKS];
    GradientTile* grads[MOST_BLOCKS];
    Scratch<float> logits, grad;
    explicit Tile(const Stack& stack)
        : blocks(stack.blocks),
          logits(last(stack).read_t ? (long)last(stack).tile * last(stack).queries * last(stack).read_pitch : 0),
          grad(BlockTile::per_query(last(stack))) {
        for (int b = 0; b < blocks; b++) block[b] = new BlockTile(stack.block[b]), grads[b] = new GradientTile(stack.block[b]);
    }
    ~Tile() {
        for (int b = 0; b < blocks; b++) delete block[b], delete grads[b];
    }
    Tile(const Tile&) = delete;
    Tile& operator=(const Tile&) = delete;
    static const Model& last(const Stack& stack) { return stack.block[stack.blocks - 1]; }
};

// A stream that one part hands to the next: what is read of it, and what a residual connection carries, with the gain
// and shift that are still to be applied to it. Rows are [sequence * position].
struct Stream {
    float *read = nullptr, *carried = nullptr;
    const float *gain = nullptr, *shift = nullptr;
};

// Whether attention's output is the stream after it as it is.
INLINE bool bare(const Model& m) {
    return !m.residual && !m.attention_norm && !m.offset && !m.drops[ATTENTION_BRANCH].threshold;
}

static void attend_together(const Model& m, const Batch& batch, const Stream& in, long start, int count,
                            const Attended* watch, BlockTile& t, float* after, Stopwatch& clock) {
    const long weights = weight_at(m, m.heads, 0), mixed = (long)m.queries * m.mixed_pitch;
    const int64_t* tokens = batch.tokens + start * m.positions;
    if (m.source == DROPPED) dropped_forward(m, batch, start, count, t.attention, t.dropped, t.weights.data, after);
    if (m.source == ROWS) gather_tile(m, tokens, count, t.rows);
    if (m.source == DENSE) {
        clock.lap(ATTEND);
        project_tile(m, in.read, count, t.rows);
        clock.lap(PRODUCTS);
    }
    if (m.source >= ROWS)
        for (int n = 0; n < count; n++)
            rows_forward(m, SequenceRows(m, t.rows, in.read, n), batch.key(ATTENTION, start + n), t.attention, watch,
                         t.weights.data + n * weights, (m.output_t ? t.mixed.data : after) + n * mixed);
    if (!m.output_t) return;
    if (m.source == TABLES)
        for (int n = 0; n < count; n++)
            attention_forward(m, tokens + (long)n * m.positions, batch.key(ATTENTION, start + n), t.attention, watch,
                              t.weights.data + n * weights, t.mixed.data + n * mixed);
    clock.lap(ATTEND);
    multiply({t.mixed.data, m.mixed_pitch, 1}, m.output_t, m.writes_pitch, after, m.writes_pitch, count * m.queries,
             m.heads * m.value_columns, m.writes, false);
    clock.lap(PRODUCTS);
}

// What one sum carries: the input from its table, the input with coordinates dropped, or rows of the stream before it.
static void carry(const Model& m, const Batch& batch, const Stream& in, long start, int n, BlockTile& t, SumForward& sum) {
    if (!m.residual) return;
    if (m.source == TABLES || m.source == ROWS) {
        sum.tokens = batch.tokens + (start + n) * m.positions;
    } else if (m.source == DROPPED) {
        sum.carried = t.dropped.input.data + (long)n * m.queries * m.writes_pitch, sum.carried_pitch = m.writes_pitch;
    } else {
        sum.carried = in.carried + ((long)(n + 1) * m.positions - m.queries) * m.reads_pitch;
        sum.carried_pitch = m.reads_pitch, sum.gain = in.gain, sum.shift = in.shift;
    }
}

// The stream after one block. Attention's part of a tile is used from `slot` on; it is 0 where there is more than
// attention.
static Stream block_forward(const Model& m, const Batch& batch, const Stream& in, long start, int count, int slot,
                            const Attended* watch, BlockTile& t, Stopwatch& clock) {
    const long rows = (long)m.queries * m.writes_pitch;
    float* after = t.after_attention.data + slot * rows;
    attend_together(m, batch, in, start, count, watch, t, after, clock);
    for (int n = 0; n < count; n++) {
        float* out = after + n * rows;
        if (m.source == TABLES && !m.output_t)
            attention_forward(m, batch.tokens + (start + n) * m.positions, batch.key(ATTENTION, start + n), t.attention,
                              watch, t.weights.data + (slot + n) * weight_at(m, m.heads, 0), out);
        clock.lap(ATTEND);
        if (!bare(m)) {
            SumForward sum;
            sum.site = ATTENTION_BRANCH, sum.norm = (Norm)m.attention_norm, sum.offset = m.offset, sum.rows = out;
            sum.key = batch.key(ATTENTION_BRANCH, start + n);
            sum.normalised = t.after_attention_normalised.data + n * rows;
            sum.inverse_deviation = t.attention_deviation.data + (long)(slot + n) * m.queries;
            carry(m, batch, in, start, n, t, sum);
            sum_forward(m, sum, t.keep.data);
        }
        clock.lap(ROWWISE);
    }
    float* read = m.attention_norm == PRE ? t.after_attention_normalised.data : after;
    if (!m.units) return {read, after, m.gain, m.shift};
    const int total_rows = count * m.queries;
    multiply({read, m.writes_pitch, 1}, m.hidden_t, m.units_pitch, t.hidden.data, m.units_pitch, total_rows, m.writes,
             m.units, false);
    clock.lap(PRODUCTS);
    for (int n = 0; n < count; n++)
        relu_forward(m, batch.key(MLP, start + n), t.hidden.data + (long)n * m.queries * m.units_pitch, t.keep.data);
    clock.lap(ROWWISE);
    multiply({t.hidden.data, m.units_pitch, 1}, m.back_t, m.writes_pitch, t.after_mlp.data, m.writes_pitch, total_rows,
             m.units, m.writes, false);
    clock.lap(PRODUCTS);
    for (int n = 0; n < count; n++) {
        SumForward sum;
        sum.site = MLP_BRANCH, sum.norm = (Norm)m.mlp_norm, sum.offset = m.back_bias, sum.rows = t.after_mlp.data + n * rows;
        sum.key = batch.key(MLP_BRANCH, start + n);
        sum.normalised = t.after_mlp_normalised.data + n * rows;
        sum.inverse_deviation = t.mlp_deviation.data + (long)n * m.queries;
        if (m.residual) {
            sum.carried = after + n * rows, sum.carried_pitch = m.writes_pitch;
            sum.gain = m.gain, sum.shift = m.shift;
        }
        sum_forward(m, sum, t.keep.data);
    }
    clock.lap(ROWWISE);
    return {m.mlp_norm == PRE ? t.after_mlp_normalised.data : t.after_mlp.data, t.after_mlp.data, m.out_gain, m.out_shift};
}

// The input of the first block where it is formed at all.
static Stream input_stream(const Model& m, const Batch& batch, long start, int count, BlockTile& t) {
    if (m.source != DENSE) return {};
    const long rows = (long)m.positions * m.reads_pitch;
    for (int n = 0; n < count; n++)
        input_forward(m, batch.tokens + (start + n) * m.positions, batch.key(EMBEDDING, start + n),
                      t.input.data + n * rows, m.input_norm ? t.input_normalised.data + n * rows : nullptr,
                      t.input_deviation.data + (long)n * m.positions, t.input_keep.data + n * t.input_keep_size);
    return {m.input_norm ? t.input_normalised.data : t.input.data, t.input.data, nullptr, nullptr};
}

static void later_of(const StreamGradient& grad, int n, SumBackward& sum) {
    if (!grad.later) return;
    sum.later = grad.later + (long)n * grad.later_rows * grad.later_pitch;
    sum.later_from = grad.later_from, sum.later_columns = grad.later_columns, sum.later_pitch = grad.later_pitch;
}

// Undo one block: `grad` with respect to the stream after it. Returns the gradient of the stream before it; a first
// block adds that to its tables. Leaves in `attention_grads` where the gradient of attention's output is.
static StreamGradient block_backward(const Model& m, const Batch& batch, const Stream& in, StreamGradient grad,
                                     const Gradients& to, long start, int count, int slot, BlockTile& t,
                                     GradientTile& g, const float*& attention_grads, Stopwatch& clock) {
    const int rows = count * m.queries;
    const long per_sequence = (long)m.queries * m.writes_pitch;
    float* after = t.after_attention.data + slot * per_sequence;
    const float* read = m.attention_norm == PRE ? t.after_attention_normalised.data : after;
    if (m.units) {
        float *inner = t.after_mlp.data, *hidden_grad = g.hidden.data;
        for (int n = 0; n < count; n++) {
            SumBackward sum;
            sum.site = MLP_BRANCH, sum.norm = (Norm)m.mlp_norm, sum.key = batch.key(MLP_BRANCH, start + n);
            later_of(grad, n, sum);
            sum.gain = m.out_gain, sum.gain_sum = to.out_gain, sum.shift_sum = to.out_shift;
            sum.normalised = (m.mlp_norm == PRE ? t.after_mlp_normalised.data : inner) + n * per_sequence;
            sum.inverse_deviation = t.mlp_deviation.data + (long)n * m.queries;
            sum.grads = grad.read + n * per_sequence, sum.branch_grads = inner + n * per_sequence;
            sum.offset_sum = to.back_bias;
            sum_backward(m, sum, t.keep.data);
        }
        clock.lap(ROWWISE);
        multiply({inner, 1, m.writes_pitch}, t.hidden.data, m.units_pitch, to.back, m.units_pitch, m.writes, rows,
                 m.units, true);
        multiply({inner, m.writes_pitch, 1}, m.back, m.units_pitch, hidden_grad, m.units_pitch, rows, m.writes,
                 m.units, false);
        clock.lap(PRODUCTS);
        relu_backward(m, t.hidden.data, hidden_grad, to.hidden_bias, rows);
        clock.lap(ROWWISE);
        multiply({read, 1, m.writes_pitch}, hidden_grad, m.units_pitch, to.hidden_t, m.units_pitch, m.writes, rows,
                 m.units, true);
        multiply({hidden_grad, m.units_pitch, 1}, m.hidden, m.writes_pitch, inner, m.writes_pitch, rows, m.units,
                 m.writes, false);
        clock.lap(PRODUCTS);
        StreamGradient inside;
        inside.read = inner;
        if (m.residual) {
            inside.later = grad.read, inside.later_pitch = m.writes_pitch, inside.later_rows = m.queries;
            inside.later_columns = m.writes;
        }
        grad = inside;
    }
    // The sum's gradient is still needed where it goes on to an earlier block, and its branch's is another one there.
    const bool apart = m.source == DENSE && m.residual && m.drops[ATTENTION_BRANCH].threshold;
    float* branch = apart ? g.branch.data : grad.read;
    for (int n = 0; n < count; n++) {
        const int64_t* tokens = batch.tokens + (start + n) * m.positions;
        if (!bare(m) || grad.later) {
            SumBackward sum;
            sum.site = ATTENTION_BRANCH, sum.norm = (Norm)m.attention_norm;
            sum.key = batch.key(ATTENTION_BRANCH, start + n);
            later_of(grad, n, sum);
            sum.gain = m.gain, sum.gain_sum = to.gain, sum.shift_sum = to.shift;
            if (m.residual && m.source != DENSE) {
                sum.tokens = tokens, sum.stream_sum = to.stream;
                if (m.source == DROPPED)
                    sum.input_keep = t.dropped.keep.data + n * t.dropped.keep_size + (long)(m.positions - m.queries) * m.writes;
            }
            sum.normalised = read + n * per_sequence;
            sum.inverse_deviation = t.attention_deviation.data + (long)(slot + n) * m.queries;
            sum.grads = grad.read + n * per_sequence, sum.branch_grads = branch + n * per_sequence;
            sum.offset_sum = to.offset;
            sum_backward(m, sum, t.keep.data);
        }
        clock.lap(ROWWISE);
        if (m.source == TABLES && !m.output_t)
            attention_backward(m, tokens, t.attention, t.weights.data + (slot + n) * weight_at(m, m.heads, 0),
                               branch + n * per_sequence, to);
        clock.lap(ATTEND_BACK);
    }
    attention_grads = branch;
    if (m.output_t) {
        const int columns = m.heads * m.value_columns;
        multiply({t.mixed.data, 1, m.mixed_pitch}, branch, m.writes_pitch, to.output_t, m.writes_pitch, columns, rows,
                 m.writes, true);
        multiply({branch, m.writes_pitch, 1}, m.output, m.mixed_pitch, g.mixed.data, m.mixed_pitch, rows, m.writes,
                 columns, false);
        clock.lap(PRODUCTS);
        attention_grads = g.mixed.data;
    }
    const long weights = weight_at(m, m.heads, 0), mixed = (long)m.queries * m.mixed_pitch;
    if (m.source == TABLES && m.output_t)
        for (int n = 0; n < count; n++)
            attention_backward(m, batch.tokens + (start + n) * m.positions, t.attention, t.weights.data + n * weights,
                               g.mixed.data + n * mixed, to);
    if (m.source == DROPPED)
        dropped_backward(m, batch, start, count, t.attention, t.dropped, t.weights.data, grad.read, to);
    StreamGradient before;
    if (m.source >= ROWS) {
        const RowGradients row_grads = {g.queries.data, keys_are_the_stream(m) ? g.stream.data : g.keys.data, g.values.data};
        for (int n = 0; n < count; n++)
            rows_backward(m, SequenceRows(m, t.rows, in.read, n), t.attention, t.weights.data + n * weights,
                          attention_grads + n * mixed,
                          {row_grads.queries + (long)n * m.queries * m.query_pitch,
                           row_grads.keys + (long)n * m.positions * m.key_pitch,
                           row_grads.values + (long)n * m.positions * m.values_pitch},
                          to.lag);
        if (m.source == ROWS) scatter_tile(m, batch.tokens + start * m.positions, count, row_grads, to);
        clock.lap(ATTEND_BACK);
        if (m.source == DENSE) {
            project_tile_backward(m, in.read, count, t.rows, row_grads, to, g.stream.data, g.asked.data);
            clock.lap(PRODUCTS);
            before.read = g.stream.data;
            if (m.residual) {
                before.later = grad.read, before.later_pitch = m.writes_pitch, before.later_rows = m.queries;
                before.later_from = m.positions - m.queries, before.later_columns = m.writes;
            }
        }
    }
    clock.lap(ATTEND_BACK);
    return before;
}

// Gradients of a dense first block's input, into the rows of the table.
static void input_gradients(const Model& m, const Batch& batch, const StreamGradient& grad, const Gradients& to,
                            long start, int count, BlockTile& t) {
    const long rows = (long)m.positions * m.reads_pitch;
    for (int n = 0; n < count; n++) {
        SumBackward sum;
        sum.norm = (Norm)m.input_norm;
        later_of(grad, n, sum);
        sum.normalised = t.input_normalised.data + n * rows;
        sum.inverse_deviation = t.input_deviation.data + (long)n * m.positions;
        sum.grads = grad.read + n * rows, sum.stream_sum = to.stream;
        input_backward(m, batch.tokens + (start + n) * m.positions, sum, t.input_keep.data + n * t.input_keep_size);
    }
}

static double train_together(const Stack& stack, const Batch* batches, const Gradients* to, long start, int count,
                             int slot, Tile& t, const float*& attention_grads, Stopwatch& clock) {
    const int last = stack.blocks - 1;
    const Model& m = stack.block[last];
    const int rows = count * m.queries;
    Stream streams[MOST_BLOCKS + 1];
    streams[0] = input_stream(stack.block[0], batches[0], start, count, *t.block[0]);
    clock.lap(ROWWISE);
    for (int b = 0; b <= last; b++)
        streams[b + 1] = block_forward(stack.block[b], batches[b], streams[b], start, count, slot, nullptr, *t.block[b], clock);
    float* stream = streams[last + 1].read;
    const int64_t* targets = batches[0].targets + start * m.queries;
    StreamGradient grad;
    grad.read = t.grad.data;
    double loss;
    if (m.read_t) {
        float* logits = t.logits.data;
        multiply({stream, m.writes_pitch, 1}, m.read_t, m.read_pitch, logits, m.read_pitch, rows, m.writes,
                 m.dictionary, false);
        clock.lap(PRODUCTS);
        loss = cross_entropy(m, targets, batches[0].weight, logits, m.read_pitch, rows, to[last].read_bias);
        clock.lap(LOSS);
        multiply({stream, 1, m.writes_pitch}, logits, m.read_pitch, to[last].read_t, m.read_pitch, m.writes, rows,
                 m.dictionary, true);
        multiply({logits, m.read_pitch, 1}, m.read, m.writes_pitch, grad.read, m.writes_pitch, rows, m.dictionary,
                 m.writes, false);
        clock.lap(PRODUCTS);
    } else {
        if (m.units)
            std::memcpy(grad.read, stream, sizeof(float) * rows * m.writes_pitch);
        else
            grad.read = stream;
        loss = cross_entropy(m, targets, batches[0].weight, grad.read, m.writes_pitch, rows, nullptr);
        clock.lap(LOSS);
    }
    for (int b = last; b >= 0; b--)
        grad = block_backward(stack.block[b], batches[b], streams[b], grad, to[b], start, count, slot, *t.block[b],
                              *t.grads[b], attention_grads, clock);
    if (stack.block[0].source == DENSE)
        input_gradients(stack.block[0], batches[0], grad, to[0], start, count, *t.block[0]);
    clock.lap(ROWWISE);
    return loss;
}

static double train_tile(const Stack& stack, const Batch* batches, const Gradients* to, long start, int count, Tile& t) {
    const Model& first = stack.block[0];
    Stopwatch clock(batches[0].seconds);
    const float* attention_grads = nullptr;
    double loss = 0;
    for (int n = 0; n < count; n += first.together)
        loss += train_together(stack, batches, to, start + n, count - n < first.together ? count - n : first.together,
                               n, t, attention_grads, clock);
    // Without anything after attention, sequences went one by one, each with a slot of its own.
    if (first.together < first.tile) attention_grads = t.block[0]->after_attention.data;
    if (first.source == TABLES)
        scatter_value_gradients(first, batches[0].tokens + start * first.positions, count, t.block[0]->weights.data,
                                attention_grads, to[0].value);
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

static double train(const Stack& stack, const Batch* batches, const Gradients* to) {
    Tile tile(stack);
    const Model& m = stack.block[0];
    const Batch& batch = batches[0];
    double loss = 0;
    for (long from = batch.first; from < batch.last; from += m.chunk) {
        const long end = from + m.chunk < batch.last ? from + m.chunk : batch.last;
        for (long at = from; at < end; at += m.tile)
            loss += train_tile(stack, batches, to, at, (int)(end - at < m.tile ? end - at : m.tile), tile);
        Stopwatch clock(batch.seconds);
        drain(to->part, to->total, to->size);
        clock.lap(SUMS);
    }
    Stopwatch clock(batch.seconds);
    drain(to->part + to->size, to->total + to->size, to->seldom);
    clock.lap(SUMS);
    return loss;
}

// Entropy of the last `counted` queries of a sequence, added to that of each head.
static void add_entropy(const Model& m, const float* weights, int counted, double* entropy) {
    for (int h = 0; h < m.heads; h++)
        for (int j = 0; j < m.positions; j++)
            for (int q = m.queries - counted; q < m.queries; q++) {
                const double a = (double)weights[weight_at(m, h, j) + q];
                if (a > 0) entropy[h] -= a * std::log(a);
            }
}

static void evaluate(const Stack& stack, const Batch* batches, const Attended* watch) {
    Tile tile(stack);
    const Batch& batch = batches[0];
    const Model& m = stack.block[stack.blocks - 1];
    for (long at = batch.first; at < batch.last; at += m.tile) {
        const int count = (int)(batch.last - at < m.tile ? batch.last - at : m.tile), rows = count * m.queries;
        Stopwatch clock(batch.seconds);
        Stream stream = input_stream(stack.block[0], batch, at, count, *tile.block[0]);
        for (int b = 0; b < stack.blocks; b++) {
            const Model& block = stack.block[b];
            Attended seen = watch[b];
            const bool every = block.queries == m.queries;
            if (!every) seen.entropy = nullptr;
            stream = block_forward(block, batches[b], stream, at, count, 0, &seen, *tile.block[b], clock);
            drain(watch[b].map, watch[b].map_total, weight_at(block, block.heads, 0));
            for (int n = 0; n < count && !every; n++)
                add_entropy(block, tile.block[b]->weights.data + n * weight_at(block, block.heads, 0), m.queries,
                            watch[b].entropy);
        }
        const float* logits = stream.read;
        long pitch = m.writes_pitch;
        if (m.read_t) {
            pitch = m.read_pitch;
            multiply({logits, m.writes_pitch, 1}, m.read_t, pitch, tile.logits.data, pitch, rows, m.writes,
                     m.dictionary, false);
            logits = tile.logits.data;
        }
        float* out = watch->logits + (at - batch.first) * m.queries * m.dictionary;
        for (int n = 0; n < rows; n++)
            for (int c = 0; c < m.dictionary; c++)
                out[(long)n * m.dictionary + c] = logits[n * pitch + c] + (m.read_bias ? m.read_bias[c] : 0);
    }
}

static const Functions functions = {train, evaluate, draw_keep};
