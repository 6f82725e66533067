// Vectors of LANES floats, exponentials, dropout bits and matrix products in registers.
// Included by kernel.cpp once per instruction set, inside a namespace that defines LANES, WIDE and KEYS.

typedef float Floats __attribute__((vector_size(4 * LANES)));
typedef int32_t Ints __attribute__((vector_size(4 * LANES)));
typedef uint64_t Words __attribute__((vector_size(4 * LANES)));
typedef uint16_t Lanes16 __attribute__((vector_size(4 * LANES)));
typedef int16_t Halves __attribute__((vector_size(2 * LANES)));
// Groups of eight whatever the instruction set: the twenty queries of a sequence fill three of them better than two
// vectors of sixteen, and fifty columns three vectors and a group.
typedef float Eight __attribute__((vector_size(32)));
typedef float Four __attribute__((vector_size(16)));
typedef float Sixteen __attribute__((vector_size(64)));
typedef int32_t FourInts __attribute__((vector_size(16)));
typedef int32_t EightInts __attribute__((vector_size(32)));
typedef int32_t SixteenInts __attribute__((vector_size(64)));
typedef int16_t EightShorts __attribute__((vector_size(16)));

// Not by memcpy: a store of bytes might change anything, and every loop would read its bounds again.
template <class V>
struct Unaligned {
    V v;
} __attribute__((packed));

template <class V>
INLINE V load(const void* from) {
    return static_cast<const Unaligned<V>*>(from)->v;
}

template <class V>
INLINE void store(void* to, V v) {
    static_cast<Unaligned<V>*>(to)->v = v;
}

template <class V>
INLINE V splat(float x) {
    return x - V{};
}

// A vector's first group: a number spread over both is read and spread once.
INLINE Eight first_eight(Floats v) {
    Eight first = {};
    __builtin_memcpy(&first, &v, sizeof v < sizeof first ? sizeof v : sizeof first);
    return first;
}

INLINE Floats masked(Floats v, Ints mask) { return (Floats)((Ints)v & mask); }

// All ones in the lanes below `count`, for the last vector of a row.
INLINE Ints first_lanes(int count) {
    int32_t lanes[LANES];
    for (int i = 0; i < LANES; i++) lanes[i] = i < count ? -1 : 0;
    return load<Ints>(lanes);
}

// Lanes rotated by half, a quarter, ...: after all of them every lane holds the sum (or the largest).
template <int BY>
INLINE Floats turned(Floats v) {
#if defined(__clang__)
    Floats t;
    for (int i = 0; i < LANES; i++) t[i] = v[(i + BY) % LANES];
    return t;
#else
    Ints from;
    for (int i = 0; i < LANES; i++) from[i] = (i + BY) % LANES;
    return __builtin_shuffle(v, from);
#endif
}

INLINE float total(Floats v) {
    if (LANES > 8) v += turned<8>(v);
    if (LANES > 4) v += turned<4>(v);
    v += turned<2>(v);
    v += turned<1>(v);
    return v[0];
}

INLINE Floats larger(Floats a, Floats b) { return a > b ? a : b; }

INLINE float largest(Floats v) {
    if (LANES > 8) v = larger(v, turned<8>(v));
    if (LANES > 4) v = larger(v, turned<4>(v));
    v = larger(v, turned<2>(v));
    v = larger(v, turned<1>(v));
    return v[0];
}

// exp of numbers up to 88, to about one unit in the last place. NaN stays NaN; what would be below the smallest normal
// number is zero.
template <class V, class I>
INLINE V exponential(V x) {
    // 1.5 * 2^23 + 127: adding it leaves the nearest integer, plus the bias of exponents, in the low bits.
    const V shift = splat<V>(12583039.0f), least = splat<V>(-88.0f);
    x = least > x ? least : x;
    const V biased = x * 1.44269504088896341f + shift;
    const V whole = biased - shift;
    V r = x - whole * 0.693359375f;
    r = r - whole * -2.12194440e-4f;
    V p = 1.9875691500e-4f * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + r + 1.0f;
    // A power of two made from bits, zero for 2^-127, multiplied and not added to the bits: a NaN stays one.
    return p * (V)((I)biased << 23);
}

INLINE Words scrambled(Words z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

// One 16-bit lane per element, all ones where kept: the masks of dropout.py, bit for bit.
// Writes whole vectors: `keep` needs room for `count` rounded up to 2 * LANES.
static void draw_keep(uint64_t key, int count, uint32_t threshold, uint16_t* keep) {
    constexpr int per = LANES / 2;
    Words counter;
    for (int i = 0; i < per; i++) counter[i] = GOLDEN * (uint64_t)(i + 1) + key;
    const Lanes16 limit = (uint16_t)threshold - Lanes16{};
    for (int e = 0; e < count; e += 4 * per) {
        const Lanes16 lanes = (Lanes16)scrambled(counter);
        store(keep + e, (Lanes16)(lanes >= limit));
        counter += GOLDEN * (uint64_t)per;
    }
}

INLINE Ints widen(const uint16_t* keep) { return __builtin_convertvector(load<Halves>(keep), Ints); }

// C[m, :] = (C[m, :] +) sum over heads and k of A[head, k, m] * B[head, k, :].
struct Product {
    const float* a;
    long a_head, a_k, a_m;
    const float* b;
    long b_head, b_k;
    float* c;
    long c_m;
    int heads, depth;
    bool add;
};

template <class V>
INLINE void add_to(float* sums, V x) {
    store(sums, load<V>(sums) + x);
}

// M rows, V vectors and T groups of eight wide, all of it in registers.
template <int M, int V, int T>
static void product_block(const Product& p) {
    Floats acc[M][V + 1];
    Eight rest[M];
    UNROLL
    for (int m = 0; m < M; m++) {
        const float* c = p.c + m * p.c_m;
        UNROLL
        for (int v = 0; v < V; v++) acc[m][v] = p.add ? load<Floats>(c + v * LANES) : Floats{};
        if (T) rest[m] = p.add ? load<Eight>(c + V * LANES) : Eight{};
    }
    for (int h = 0; h < p.heads; h++) {
        const float* a = p.a + h * p.a_head;
        const float* b = p.b + h * p.b_head;
        for (int k = 0; k < p.depth; k++) {
            Floats row[V + 1];
            Eight row_rest = {};
            UNROLL
            for (int v = 0; v < V; v++) row[v] = load<Floats>(b + v * LANES);
            if (T) row_rest = load<Eight>(b + V * LANES);
            UNROLL
            for (int m = 0; m < M; m++) {
                const Floats x = splat<Floats>(a[m * p.a_m]);
                UNROLL
                for (int v = 0; v < V; v++) acc[m][v] += x * row[v];
                if (T) rest[m] += first_eight(x) * row_rest;
            }
            a += p.a_k;
            b += p.b_k;
        }
    }
    UNROLL
    for (int m = 0; m < M; m++) {
        float* c = p.c + m * p.c_m;
        UNROLL
        for (int v = 0; v < V; v++) store(c + v * LANES, acc[m][v]);
        if (T) store(c + V * LANES, rest[m]);
    }
}

template <int V, int T>
static void product_rows(const Product& p, int rows) {
    switch (rows) {
        case 1: return product_block<1, V, T>(p);
        case 2: return product_block<2, V, T>(p);
        case 3: return product_block<3, V, T>(p);
        case 4: return product_block<4, V, T>(p);
        case 5: return product_block<5, V, T>(p);
        default: return product_block<6, V, T>(p);
    }
}

// Up to COLUMNS columns, in whole groups of eight.
static void product(Product p, int rows, int columns) {
    constexpr int step = WIDE * LANES;
    for (; columns >= step; columns -= step) {
        product_rows<WIDE, 0>(p, rows);
        p.b += step;
        p.c += step;
    }
    if (LANES == 16) {
        switch (columns / 8) {
            case 0: return;
            case 1: return product_rows<0, 1>(p, rows);
            case 2: return product_rows<1, 0>(p, rows);
            case 3: return product_rows<1, 1>(p, rows);
            case 4: return product_rows<2, 0>(p, rows);
            case 5: return product_rows<2, 1>(p, rows);
            case 6: return product_rows<3, 0>(p, rows);
            default: return product_rows<3, 1>(p, rows);
        }
    }
    for (; columns > 0; columns -= LANES) {
        product_rows<1, 0>(p, rows);
        p.b += LANES;
        p.c += LANES;
    }
}

// A matrix to read: where it starts, and how far its rows and its columns lie apart.
struct Matrix {
    const float* data;
    long down, right;
};
INLINE Matrix by_rows(const float* data, long pitch) { return {data, pitch, 1}; }
INLINE Matrix transposed(const float* data, long pitch) { return {data, 1, pitch}; }

// Rows that lie `pitch` apart and are padded to whole groups of eight: to read, and to write or add to.
struct Rows {
    const float* data;
    long pitch;
};
enum Mode { REPLACE, ADD };
struct Into {
    float* data;
    long pitch;
    Mode mode = REPLACE;
};

struct Shape {
    int rows, depth, columns;
};

// C = A B or C += A B.
static void multiply(Matrix a, Rows b, Into c, Shape shape) {
    const int columns = (shape.columns + 7) / 8 * 8;
    for (int from = 0; from < columns; from += COLUMNS) {
        const int width = columns - from < COLUMNS ? columns - from : COLUMNS;
        for (int m = 0; m < shape.rows; m += 6) {
            Product p;
            p.a = a.data + m * a.down, p.a_head = 0, p.a_k = a.right, p.a_m = a.down;
            p.b = b.data + from, p.b_head = 0, p.b_k = b.pitch;
            p.c = c.data + m * c.pitch + from, p.c_m = c.pitch;
            p.heads = 1, p.depth = shape.depth, p.add = c.mode == ADD;
            product(p, shape.rows - m < 6 ? shape.rows - m : 6, width);
        }
    }
}

// The same where B lies in blocks of COLUMNS columns: [block, depth, COLUMNS].
static void multiply_blocks(Matrix a, const float* b, Into c, Shape shape) {
    for (int from = 0; from < shape.columns; from += COLUMNS)
        multiply(a, {b + (long)from * shape.depth, COLUMNS}, {c.data + from, c.pitch, c.mode},
                 {shape.rows, shape.depth, shape.columns - from < COLUMNS ? shape.columns - from : COLUMNS});
}
