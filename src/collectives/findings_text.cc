#include "collectives/findings_text.h"

#include <fmt/ranges.h>

#include "base/json_text.h"
#include "base/text.h"

namespace telltale::collectives {
namespace {

std::string DurationText(double ns) {
  if (ns >= 1e9) return fmt::format("{:.3g} s", ns / 1e9);
  if (ns >= 1e6) return fmt::format("{:.3g} ms", ns / 1e6);
  return fmt::format("{:.3g} us", ns / 1e3);
}

std::string Since(const Finding& finding) {
  std::string text;
  if (finding.range.first_sequence && finding.range.last_sequence) {
    text = fmt::format(" at {} {} to {}", finding.where.operation, *finding.range.first_sequence,
                       *finding.range.last_sequence);
  }
  return text;
}

std::string Who(const FindingPlace& where) {
  std::string text;
  if (where.global_rank) {
    text = fmt::format("global rank {}", *where.global_rank);
  } else if (where.rank) {
    text = fmt::format("rank {} of {}", *where.rank, where.communicator);
  }
  if (!where.host.empty()) {
    text += text.empty() ? "host " + where.host : fmt::format(" (host {}", where.host);
    if (where.rank || where.global_rank) {
      text += where.process ? fmt::format(", pid {})", *where.process) : ")";
    }
  }
  return text;
}

// " (node001, node002)", " (64 hosts from node001 on)".
std::string HostsText(const std::vector<std::string>& hosts) {
  constexpr size_t kFew = 4;
  if (hosts.empty()) return "";
  if (hosts.size() > kFew)
    return fmt::format(" ({} hosts from {} on)", hosts.size(), hosts.front());
  return fmt::format(" ({})", fmt::join(hosts, ", "));
}

std::string Sentence(const Finding& finding) {
  const FindingPlace& where = finding.where;
  const double added = finding.effect.added_ns.value_or(0);
  const double ratio = finding.effect.ratio.value_or(1);
  switch (finding.kind) {
    case FindingKind::kLateRank:
      return fmt::format(
          "{} comes {} late to {}{}: the other ranks wait for it ({:.2f} times the time)",
          Who(where), DurationText(added), where.communicator, Since(finding), ratio);
    case FindingKind::kSlowLink:
    case FindingKind::kSlowCommunicator:
      if (!where.other_host.empty()) {
        return fmt::format("what runs between {} and {} takes {:.2f} times as long (+{}){}",
                           where.host, where.other_host, ratio, DurationText(added),
                           Since(finding));
      }
      return fmt::format(
          "{}{} takes {:.2f} times as long (+{}){}; nobody is waited for",
          where.communicator.empty() ? "a group of communicators" : where.communicator,
          HostsText(where.hosts), ratio, DurationText(added), Since(finding));
    case FindingKind::kSlowHost:
      return fmt::format("all network communication through {} takes {:.2f} times as long (+{}){}",
                         where.host, ratio, DurationText(added), Since(finding));
    case FindingKind::kCongestion:
      return fmt::format(
          "network communication everywhere takes {:.2f} times as long (+{}), for example {}{}",
          ratio, DurationText(added), where.communicator, Since(finding));
    case FindingKind::kJitter:
      return fmt::format("the arrival of {} varies {:.1f} times as much as normal (by {}){}",
                         Who(where).empty() ? "all ranks" : Who(where), ratio, DurationText(added),
                         Since(finding));
    case FindingKind::kLoss:
      return finding.text;
  }
  return {};
}

template <typename T>
std::string NumberOrNull(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : "null";
}

std::string TextOrNull(const std::string& text) { return text.empty() ? "null" : JsonString(text); }

std::string RoundedOrNull(const std::optional<double>& value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "null";
}

std::string EvidenceJson(const EvidenceRow& row) {
  return fmt::format(
      R"({{"table":{},"row":{},"source":{},"position":{},"role":{},"exec_time_ns":{:.0f}}})",
      JsonString(row.table), JsonString(row.row), TextOrNull(row.source),
      row.position > 0 ? fmt::format("{}", row.position) : "null", JsonString(row.role),
      row.exec_time_ns);
}

std::string FindingJson(const Finding& finding) {
  const FindingPlace& where = finding.where;
  std::string hosts;
  for (const std::string& host : where.hosts)
    hosts += (hosts.empty() ? "" : ",") + JsonString(host);
  std::string json = fmt::format(
      R"({{"kind":"{}","run":{},"where":{{"communicator":{},"communicator_key":{},"rank":{},"global_rank":{},)"
      R"("host":{},"other_host":{},"hosts":[{}],"process":{},"gpu":{},"operation":{}}},)",
      KindName(finding.kind), JsonString(finding.run), TextOrNull(where.communicator),
      NumberOrNull(where.communicator_key), NumberOrNull(where.rank),
      NumberOrNull(where.global_rank), TextOrNull(where.host), TextOrNull(where.other_host), hosts,
      NumberOrNull(where.process), NumberOrNull(where.gpu), TextOrNull(where.operation));
  json += fmt::format(
      R"("range":{{"first_sequence":{},"last_sequence":{},"start_ns":{},"end_ns":{}}},)"
      R"("effect":{{"ratio":{},"added_ns":{}}},"confidence":{:.3f},"operations":{},"evidence":[)",
      NumberOrNull(finding.range.first_sequence), NumberOrNull(finding.range.last_sequence),
      NumberOrNull(finding.range.start_ns), NumberOrNull(finding.range.end_ns),
      RoundedOrNull(finding.effect.ratio, 4), RoundedOrNull(finding.effect.added_ns, 0),
      finding.confidence, finding.operations);
  for (size_t i = 0; i < finding.evidence.size(); ++i) {
    json += (i > 0 ? "," : "") + EvidenceJson(finding.evidence[i]);
  }
  json += "],\"also\":[";
  for (size_t i = 0; i < finding.also.size(); ++i)
    json += (i > 0 ? "," : "") + JsonString(finding.also[i]);
  return json + fmt::format(R"(],"note":{},"text":{}}})", TextOrNull(finding.note),
                            JsonString(finding.text));
}

}  // namespace

std::string FindingText(const Finding& finding) {
  std::string text = Sentence(finding);
  if (!finding.note.empty()) text += "; " + finding.note;
  return text;
}

std::string FindingsJson(const Findings& findings, const std::string& extra) {
  std::string json = R"({"schema":"telltale/findings/1","findings":[)";
  for (size_t i = 0; i < findings.findings.size(); ++i) {
    json += (i > 0 ? "," : "") + FindingJson(findings.findings[i]);
  }
  json += "],\"not_known\":[";
  for (size_t i = 0; i < findings.not_known.size(); ++i) {
    const NotKnown& not_known = findings.not_known[i];
    json += fmt::format(R"({}{{"run":{},"reason":{},"communicator":{},"text":{}}})",
                        i > 0 ? "," : "", JsonString(not_known.run), JsonString(not_known.reason),
                        TextOrNull(not_known.communicator), JsonString(not_known.text));
  }
  return json + fmt::format(R"(],"records":{},"operations":{}{}}})", findings.records,
                            findings.operations, extra);
}

}  // namespace telltale::collectives
