#include "collectives/findings_data.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <map>
#include <numeric>
#include <thread>
#include <tuple>
#include <unordered_map>

#include "store/column_scan.h"

namespace telltale::collectives {
namespace {

int64_t Integer(const Cell& cell) {
  if (const auto* value = std::get_if<int64_t>(&cell)) return *value;
  if (const auto* value = std::get_if<uint64_t>(&cell)) return static_cast<int64_t>(*value);
  if (const auto* value = std::get_if<double>(&cell)) return static_cast<int64_t>(*value);
  if (const auto* value = std::get_if<bool>(&cell)) return *value ? 1 : 0;
  return 0;
}

double Real(const Cell& cell) {
  if (const auto* value = std::get_if<double>(&cell)) return *value;
  return static_cast<double>(Integer(cell));
}

// Sizes that the producer did not know are 2^64 - n.
constexpr uint64_t kMostBytes = uint64_t{1} << 62;

class Loader {
 public:
  Loader(Store& store, int64_t run, const std::string& name) : store_(store) {
    data_.run = run;
    data_.name = name;
  }

  Result<RunData> Load() {
    TELLTALE_ASSIGN(connection_, store_.Connect());
    TELLTALE_TRY(LoadCommunicators());
    TELLTALE_TRY(LoadMembers());
    NumberEntities();
    TELLTALE_TRY(LoadSeries());
    TELLTALE_TRY(LoadBlocks());
    TELLTALE_TRY(LoadRecords());
    TELLTALE_TRY(LoadIrregular());
    Finish();
    return std::move(data_);
  }

 private:
  Result<Table> Query(const std::string& sql) {
    const std::array<Cell, 1> parameters = {Cell(data_.run)};
    return connection_->Query(sql, parameters);
  }

  Status LoadCommunicators() {
    TELLTALE_ASSIGN(
        const Table table,
        Query("SELECT communicator, coalesce(nullif(name, 'unknown'), id), n_ranks, nnodes "
              "FROM communicator WHERE run = $1 AND NOT ambiguous AND n_ranks > 0 "
              "ORDER BY communicator"));
    for (const std::vector<Cell>& row : table.rows) {
      CommunicatorData communicator;
      communicator.key = Integer(row[0]);
      communicator.name = CellText(row[1]);
      communicator.n_ranks = Integer(row[2]);
      communicator.nnodes = static_cast<uint64_t>(Integer(row[3]));
      communicator_index_[communicator.key] = static_cast<uint32_t>(data_.communicators.size());
      data_.communicators.push_back(std::move(communicator));
    }
    return {};
  }

  Status LoadMembers() {
    TELLTALE_ASSIGN(
        const Table table,
        Query("SELECT c.communicator_rank, c.communicator, c.rank, coalesce(p.host, ''), p.pid, "
              "  EXISTS (FROM ingest_loss l WHERE l.communicator_rank = c.communicator_rank "
              "          AND l.class = 'operation' AND l.kind <> 'sequence_gap_filtered') "
              "FROM communicator_rank c JOIN process p ON p.process = c.process "
              "JOIN source f ON f.source = c.source "
              "WHERE f.run = $1 AND c.communicator IS NOT NULL AND c.rank IS NOT NULL "
              "ORDER BY c.communicator, c.rank, c.communicator_rank"));
    // A process that has several ranks of one communicator drives several GPUs.
    std::map<std::tuple<std::string, uint64_t, int64_t>, std::vector<int64_t>> ranks_of;
    std::map<std::pair<std::string, uint64_t>, bool> drives_several;
    const auto identity = [](const std::vector<Cell>& row) {
      return std::pair(CellText(row[3]), static_cast<uint64_t>(Integer(row[4])));
    };
    for (const std::vector<Cell>& row : table.rows) {
      const auto [host, pid] = identity(row);
      std::vector<int64_t>& ranks = ranks_of[{host, pid, Integer(row[1])}];
      if (!ranks.empty() && ranks.back() != Integer(row[2])) drives_several[{host, pid}] = true;
      ranks.push_back(Integer(row[2]));
    }
    std::map<std::tuple<std::string, uint64_t, int64_t, int64_t>, uint32_t> entities;
    std::map<std::string, int32_t> hosts;
    for (const std::vector<Cell>& row : table.rows) {
      const auto communicator = communicator_index_.find(Integer(row[1]));
      if (communicator == communicator_index_.end()) continue;
      const auto [host, pid] = identity(row);
      const bool several = drives_several.contains({host, pid});
      const auto [entity, is_new] = entities.emplace(
          std::tuple(host, pid, several ? Integer(row[1]) : -1, several ? Integer(row[2]) : -1),
          static_cast<uint32_t>(data_.entities.size()));
      if (is_new) {
        const auto [index, new_host] =
            hosts.emplace(host, static_cast<int32_t>(data_.hosts.size()));
        if (new_host) data_.hosts.push_back(host);
        data_.entities.push_back({host, pid, index->second, -1});
      }
      std::vector<uint32_t>& members = data_.communicators[communicator->second].members;
      const int64_t rank = Integer(row[2]);
      if (members.empty() || data_.members[members.back()].rank != rank) {
        members.push_back(static_cast<uint32_t>(data_.members.size()));
        data_.members.push_back({communicator->second, rank, entity->second, false});
      }
      data_.members[members.back()].incomplete |= Integer(row[5]) != 0;
      member_of_[Integer(row[0])] = members.back();
    }
    return {};
  }

  // The data has no global rank. The communicator that holds every process gives it.
  void NumberEntities() {
    for (uint32_t c = 0; c < data_.communicators.size(); ++c) {
      const CommunicatorData& communicator = data_.communicators[c];
      if (communicator.n_ranks < 2 || communicator.members.size() < data_.entities.size()) continue;
      if (data_.world >= 0 &&
          data_.communicators[static_cast<size_t>(data_.world)].n_ranks >= communicator.n_ranks) {
        continue;
      }
      data_.world = static_cast<int32_t>(c);
    }
    if (data_.world < 0) return;
    for (const uint32_t member : data_.communicators[static_cast<size_t>(data_.world)].members) {
      data_.entities[data_.members[member].entity].global_rank = data_.members[member].rank;
    }
  }

  Status LoadSeries() {
    TELLTALE_ASSIGN(
        const Table table,
        Query("SELECT s.series, s.communicator_rank, s.kind, s.operation, s.peer, s.message_bytes, "
              "  (s.operations + coalesce(i.n, 0))::BIGINT, "
              "  concat_ws(' ', s.algorithm, s.protocol, s.timing_source), "
              "  s.traffic_bytes * s.bus_factor "
              "FROM operation_series s JOIN source f ON f.source = s.source "
              "LEFT JOIN (SELECT series, count(*) AS n FROM operation_record_irregular GROUP BY "
              "series) i "
              "  ON i.series = s.series "
              "WHERE f.run = $1 ORDER BY s.series"));
    std::map<std::tuple<uint32_t, int64_t, int64_t, std::string, uint64_t, std::string>, uint32_t>
        lanes;
    uint64_t records = 0;
    for (const std::vector<Cell>& row : table.rows) {
      const auto member = member_of_.find(Integer(row[1]));
      const auto bytes = static_cast<uint64_t>(Integer(row[5]));
      const auto count = static_cast<uint64_t>(Integer(row[6]));
      const bool no_size = std::holds_alternative<std::monostate>(row[5]) || bytes > kMostBytes;
      const bool p2p = CellText(row[2]) == "p2p";
      const bool no_peer = p2p && std::holds_alternative<std::monostate>(row[4]);
      if (member == member_of_.end() || no_size || no_peer || count == 0) {
        data_.skipped += count;
        continue;
      }
      const Member& who = data_.members[member->second];
      const int64_t peer = Integer(row[4]);
      const std::string operation = CellText(row[3]);
      const int64_t low = p2p ? std::min(who.rank, peer) : -1;
      const int64_t high = p2p ? std::max(who.rank, peer) : -1;
      const auto [lane, is_new] =
          lanes.emplace(std::tuple(who.communicator, low, high, p2p ? "Send/Recv" : operation,
                                   bytes, CellText(row[7])),
                        static_cast<uint32_t>(data_.lanes.size()));
      if (is_new) {
        Lane made;
        made.communicator = who.communicator;
        made.p2p = p2p;
        made.operation = p2p ? "Send/Recv" : operation;
        made.bytes = bytes;
        made.variant = CellText(row[7]);
        made.bus_bytes = Real(row[8]);
        made.low_rank = low;
        made.high_rank = high;
        data_.lanes.push_back(std::move(made));
      }
      const auto series = static_cast<uint32_t>(Integer(row[0]));
      std::vector<SeriesData>& of_lane = data_.lanes[lane->second].series;
      slot_of_[series] = {lane->second, static_cast<uint32_t>(of_lane.size())};
      of_lane.push_back({series, member->second, operation == "Send", records, 0});
      records += count;
    }
    data_.sequence.resize(records);
    data_.time_us.resize(records);
    return {};
  }

  SeriesData* SeriesOf(uint32_t series) {
    const auto slot = slot_of_.find(series);
    if (slot == slot_of_.end()) return nullptr;
    return &data_.lanes[slot->second.first].series[slot->second.second];
  }

  Status LoadBlocks() {
    TELLTALE_TRY(ScanColumns(*connection_,
                             "SELECT block, sequence_offset FROM operation_block ORDER BY block",
                             [&](std::span<const void* const> columns, size_t rows) {
                               const auto* block = static_cast<const int64_t*>(columns[0]);
                               const auto* offset = static_cast<const int64_t*>(columns[1]);
                               block_.insert(block_.end(), block, block + rows);
                               block_offset_.insert(block_offset_.end(), offset, offset + rows);
                             }));
    return {};
  }

  // Puts records behind each other in the place of their series.
  void Put(SeriesData& series, uint64_t sequence, uint64_t time_us) {
    if (time_us == 0 || time_us > std::numeric_limits<uint32_t>::max() ||
        sequence > std::numeric_limits<uint32_t>::max()) {
      ++unusable_;
      return;
    }
    const uint64_t at = series.begin + series.count++;
    data_.sequence[at] = static_cast<uint32_t>(sequence);
    data_.time_us[at] = static_cast<uint32_t>(time_us);
  }

  Status LoadRange(int64_t first_block, int64_t end_block) {
    TELLTALE_ASSIGN(const auto connection, store_.Connect());
    int64_t current = -1;
    int64_t offset = 0;
    SeriesData* series = nullptr;
    return ScanColumns(
        *connection,
        fmt::format("SELECT block, record.exec_time_us, record.sequence_key FROM operation_record "
                    "WHERE block >= {} AND block < {}",
                    first_block, end_block),
        [&](std::span<const void* const> columns, size_t rows) {
          const auto* block = static_cast<const int64_t*>(columns[0]);
          const auto* time = static_cast<const uint32_t*>(columns[1]);
          const auto* key = static_cast<const uint32_t*>(columns[2]);
          for (size_t i = 0; i < rows; ++i) {
            if (block[i] != current) {
              current = block[i];
              const auto at = std::lower_bound(block_.begin(), block_.end(), current);
              const bool known = at != block_.end() && *at == current;
              offset = known ? block_offset_[static_cast<size_t>(at - block_.begin())] : 0;
              series = known ? SeriesOf(static_cast<uint32_t>(current >> 16)) : nullptr;
            }
            if (series != nullptr) Put(*series, static_cast<uint64_t>(offset + key[i]), time[i]);
          }
        });
  }

  // Two connections, each with its half of the series: a stream is read by one thread.
  Status LoadRecords() {
    if (block_.empty()) return {};
    const int64_t last = (block_.back() >> 16) + 1;
    const int64_t middle = (block_[block_.size() / 2] >> 16) + 1;
    Status second;
    std::thread other([&] { second = LoadRange(middle << 16, last << 16); });
    const Status first = LoadRange(0, middle << 16);
    other.join();
    TELLTALE_TRY(first);
    return second;
  }

  Status LoadIrregular() {
    return ScanColumns(*connection_,
                       "SELECT series, sequence, exec_time_us FROM operation_record_irregular "
                       "WHERE sequence IS NOT NULL AND exec_time_us IS NOT NULL",
                       [&](std::span<const void* const> columns, size_t rows) {
                         const auto* id = static_cast<const uint32_t*>(columns[0]);
                         const auto* sequence = static_cast<const uint64_t*>(columns[1]);
                         const auto* time = static_cast<const uint64_t*>(columns[2]);
                         for (size_t i = 0; i < rows; ++i) {
                           if (SeriesData* series = SeriesOf(id[i]))
                             Put(*series, sequence[i], time[i]);
                         }
                       });
  }

  // A later source may hold earlier records: series are put in order of sequence numbers, each
  // once.
  void Sort(SeriesData& series) {
    const auto begin = static_cast<std::ptrdiff_t>(series.begin);
    uint32_t* sequence = data_.sequence.data() + begin;
    uint32_t* time = data_.time_us.data() + begin;
    const auto less_equal = [](uint32_t a, uint32_t b) { return a >= b; };
    if (std::adjacent_find(sequence, sequence + series.count, less_equal) ==
        sequence + series.count) {
      return;
    }
    std::vector<std::pair<uint32_t, uint32_t>> records(series.count);
    for (size_t i = 0; i < series.count; ++i) records[i] = {sequence[i], time[i]};
    std::stable_sort(records.begin(), records.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    records.erase(std::unique(records.begin(), records.end(),
                              [](const auto& a, const auto& b) { return a.first == b.first; }),
                  records.end());
    series.count = records.size();
    for (size_t i = 0; i < series.count; ++i) std::tie(sequence[i], time[i]) = records[i];
  }

  void Finish() {
    data_.skipped += unusable_.load();
    // The counter's range, over all sizes of an operation of a communicator.
    std::map<std::pair<uint32_t, std::string>, std::pair<uint64_t, uint64_t>> ranges;
    for (Lane& lane : data_.lanes) {
      std::erase_if(lane.series, [](const SeriesData& series) { return series.count == 0; });
      for (SeriesData& series : lane.series) {
        Sort(series);
        const auto sequences = data_.Sequences(series);
        const auto [range, is_new] = ranges.emplace(std::pair(lane.communicator, lane.operation),
                                                    std::pair(sequences.front(), sequences.back()));
        range->second.first = std::min<uint64_t>(range->second.first, sequences.front());
        range->second.second = std::max<uint64_t>(range->second.second, sequences.back());
      }
    }
    std::erase_if(data_.lanes, [](const Lane& lane) { return lane.series.empty(); });
    for (Lane& lane : data_.lanes) {
      if (lane.p2p) {  // each rank counts by itself
        lane.first_sequence = std::numeric_limits<uint64_t>::max();
        for (const SeriesData& series : lane.series) {
          const auto sequences = data_.Sequences(series);
          lane.first_sequence = std::min<uint64_t>(lane.first_sequence, sequences.front());
          lane.last_sequence = std::max<uint64_t>(lane.last_sequence, sequences.back());
        }
      } else {
        std::tie(lane.first_sequence, lane.last_sequence) =
            ranges[{lane.communicator, lane.operation}];
      }
      OneSeriesARank(lane);
    }
  }

  // Of a rank that two sources speak of, the one that says more is kept.
  void OneSeriesARank(Lane& lane) {
    std::stable_sort(lane.series.begin(), lane.series.end(),
                     [](const SeriesData& a, const SeriesData& b) {
                       return std::tuple(a.member, a.is_send, b.count) <
                              std::tuple(b.member, b.is_send, a.count);
                     });
    const auto same = [](const SeriesData& a, const SeriesData& b) {
      return a.member == b.member && a.is_send == b.is_send;
    };
    const auto end = std::unique(lane.series.begin(), lane.series.end(), same);
    for (auto series = end; series != lane.series.end(); ++series) data_.skipped += series->count;
    lane.series.erase(end, lane.series.end());
  }

  Store& store_;
  std::unique_ptr<Connection> connection_;
  RunData data_;
  std::unordered_map<int64_t, uint32_t> communicator_index_;
  std::unordered_map<int64_t, uint32_t> member_of_;  // by communicator_rank
  std::unordered_map<uint32_t, std::pair<uint32_t, uint32_t>>
      slot_of_;  // series: lane and place in it
  std::vector<int64_t> block_, block_offset_;
  std::atomic<uint64_t> unusable_ = 0;
};

}  // namespace

Result<RunData> LoadRun(Store& store, int64_t run, const std::string& name) {
  return Loader(store, run, name).Load();
}

}  // namespace telltale::collectives
