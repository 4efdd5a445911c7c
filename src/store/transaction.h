#pragma once

#include "store/database.h"

namespace telltale {

// Runs `work`, which returns a Status, in a transaction of its own: what it did is kept only if all
// of it went well.
template <typename Work>
Status InTransaction(Connection& connection, const Work& work) {
  TELLTALE_TRY(connection.Run("BEGIN"));
  Status status = work();
  if (status) status = connection.Run("COMMIT");
  if (!status) (void)connection.Run("ROLLBACK");
  return status;
}

}  // namespace telltale
