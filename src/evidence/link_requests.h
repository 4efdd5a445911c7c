#pragma once

// Steps, requests and which worked for which: the tables step, request and step_request, made anew
// for a run from all that its sources tell. Clocks of hosts too (host_clock), since times of
// several hosts meet here.

#include "store/store.h"

namespace telltale::evidence {

// After an ingest, for the runs whose sources are others than those that they were made from.
Status LinkRequests(Store& store);

}  // namespace telltale::evidence
