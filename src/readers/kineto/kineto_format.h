#pragma once

// Reader of Chrome traces that PyTorch's profiler (Kineto) writes: *.pt.trace.json, plain, gzip or
// zstd. Source: pytorch/kineto, libkineto/src/output_json.cpp; the format's oddities are named
// where they are handled.

#include "readers/format.h"

namespace telltale::kineto {

Format KinetoFormat();

}  // namespace telltale::kineto
