#pragma once

#include "readers/format.h"

namespace telltale::kernel_log {

// Logs of the kernel (dmesg, /dev/kmsg, journal) and of Nvidia's fabric manager.
Format KernelLogFormat();

}  // namespace telltale::kernel_log
