#pragma once

// Names of PCI devices. Sources write one in several ways: the driver's Xid lines with four digits
// of domain and no function (0000:9b:00), DCGM with eight digits, in either case
// (00000008:06:00.0), lspci perhaps without a domain (9b:00.0).

#include <optional>
#include <string>
#include <string_view>

namespace telltale {

// One form for all: lower case, four digits of domain (eight where it needs more), function .0
// where none is named, as in 0008:06:00.0. Nothing where it is no name of a PCI device.
std::optional<std::string> NormalPciBusId(std::string_view text);

}  // namespace telltale
