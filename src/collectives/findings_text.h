#pragma once

// A finding as a sentence and as JSON. Every number is one of the finding's.

#include <string>

#include "collectives/findings.h"

namespace telltale::collectives {

std::string FindingText(const Finding& finding);

// {"schema":"telltale/findings/1","findings":[…],"not_known":[…],…<extra>}
std::string FindingsJson(const Findings& findings, const std::string& extra);

}  // namespace telltale::collectives
