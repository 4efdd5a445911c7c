#pragma once

// Scrapes of Prometheus exporters, kept as files, as sources of the store.

#include "readers/format.h"

namespace telltale::prometheus {

Format PrometheusFormat();

}  // namespace telltale::prometheus
