#pragma once

// How many steps give about the number of records or bytes that was asked for.

#include "base/result.h"
#include "simulate/training_layout.h"
#include "simulate/training_options.h"

namespace telltale::simulate {

// Sets `options.steps` if a target is set. Simulates one step to know how long it takes, because
// that decides how many records the rings overwrite between two dumps.
Status ChooseSteps(const Layout& layout, uint32_t ring_size, TrainingOptions& options);

}  // namespace telltale::simulate
