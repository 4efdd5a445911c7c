#pragma once

// Operations that happened and that no record shows: as findings where the job lost them, and as
// reasons why something is not known where the data cannot be otherwise.

#include "collectives/findings.h"
#include "collectives/findings_data.h"
#include "collectives/findings_matching.h"

namespace telltale::collectives {

Status FindLoss(Connection& connection, const RunData& data,
                const std::vector<MatchedLane>& matched, Findings& findings);

}  // namespace telltale::collectives
