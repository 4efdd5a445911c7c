#pragma once

// Prefixes of the kernel's log and of Nvidia's fabric manager.
//   [24128.828315]  [Sun Feb 23 16:24:18 2025]                   dmesg, dmesg -T
//   kern  :warn  : 2025-01-21T04:41:44,283302+00:00              dmesg --decode --time-format iso
//   6,3973,227996636,-;                                          /dev/kmsg
//   Jan 21 04:41:44 host kernel: [24128.828315]                  syslog, journalctl
//   2025-01-21T04:41:44+0000 host kernel:                        journalctl -o short-iso
//   [Feb 25 2025 13:59:45] [INFO] [tid 1803]                     fabric manager

#include <span>

#include "readers/log/line_prefix.h"

namespace telltale::kernel_log {

std::span<const log::Peel> KernelPeels();

}  // namespace telltale::kernel_log
