// Summed cross-entropy; logits become their gradient times `weight`, and zero beyond the dictionary.
static double cross_entropy(const Block& m, const int64_t* targets, float weight, float* logits, long pitch, int count,
                            float* bias_sum) {
    const int last = (m.dictionary - 1) / LANES * LANES;
    const Ints tail = first_lanes(m.dictionary - last);
    double sum = 0;
    // Sixteen rows at a time: the steps of one row wait for each other, those of different rows do not. One logarithm
    // serves all of them, because each normaliser is below 2^31.
    for (int from = 0; from < count; from += 16) {
        const int end = from + 16 < count ? from + 16 : count;
        float tops[16], normaliser[16];
        for (int n = from; n < end; n++) {
            float* row = logits + n * pitch;
            if (m.read_bias)
                for (int c = 0; c <= last; c += LANES) add_to(row + c, load<Floats>(m.read_bias + c));
            Floats most = splat<Floats>(row[0]);
            for (int c = 0; c < last; c += LANES) most = larger(load<Floats>(row + c), most);
            const Floats x = load<Floats>(row + last);
            most = (x > most) & tail ? x : most;
            tops[n - from] = largest(most);
            sum += (double)tops[n - from] - (double)row[targets[n]];
        }
        for (int n = from; n < end; n++) {
            float* row = logits + n * pitch;
            Floats sums = {};
            for (int c = 0; c <= last; c += LANES) {
                Floats e = exponential<Floats, Ints>(load<Floats>(row + c) - tops[n - from]);
                if (c == last) e = masked(e, tail);
                sums += e;
                store(row + c, e);
            }
            normaliser[n - from] = total(sums);
        }
        double normalisers = 1;
        for (int n = from; n < end; n++) {
            float* row = logits + n * pitch;
            normalisers *= (double)normaliser[n - from];
            const Floats factor = splat<Floats>(weight / normaliser[n - from]);
            for (int c = 0; c <= last; c += LANES) store(row + c, load<Floats>(row + c) * factor);
            row[targets[n]] -= weight;
            if (bias_sum)
                for (int c = 0; c <= last; c += LANES) add_to(bias_sum + c, load<Floats>(row + c));
            for (int c = last + LANES; c < pitch; c += LANES) store(row + c, Floats{});
        }
        sum += std::log(normalisers);
    }
    return sum;
}
