// Everything that is compiled once per instruction level, in order; `kernel.cpp` includes this inside a namespace
// that defines LANES (floats in a vector), WIDE (vectors in a row of a register block) and KEYS (keys of one).
#include "kernel_vectors.h"
#include "kernel_scores.h"
#include "kernel_quads.h"
#include "kernel_values.h"
#include "kernel_attention.h"
#include "kernel_rows.h"
#include "kernel_dropped.h"
#include "kernel_loss.h"
#include "kernel_nodes.h"
#include "kernel_decoder.h"
