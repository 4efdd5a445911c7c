// The program `telltale`: global options, the list of commands, and what becomes of their errors.

#include <fcntl.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <system_error>

#include <fmt/format.h>

#include "base/version.h"
#include "cli/command.h"
#include "cli/commands/list.h"
#include "cli/output.h"
#include "cli/store_access.h"

namespace telltale::cli {
namespace {

constexpr const char* kFooter = R"(
Examples:
  telltale ingest logs/                      read a folder of NCCL Inspector logs into telltale.duckdb
  telltale collectives summary               what ran: operations, bytes, bandwidth, coverage
  telltale losses                            what is missing, and what it does to the answers
  telltale --json collectives summary | jq   every answer is also JSON
  telltale COMMAND --help                    options and examples of a command

Exit: 0 done, 1 failed, 2 wrong usage, 3 a gate that was asked for (--fail-on) did not hold.)";

int Run(int argc, char** argv) {
  CLI::App app("What happened to this request, and which communicator, host or rank is slow.");
  app.name("telltale");
  app.footer(kFooter);
  app.set_version_flag("--version", "telltale " + std::string(kVersion));
  app.require_subcommand(1);
  app.fallthrough();

  GlobalOptions global;
  bool json = false;
  app.add_option("--store", global.store, "the evidence store, a DuckDB file")
      ->envname("TELLTALE_STORE")
      ->capture_default_str();
  const std::map<std::string, Format> formats = {{"table", Format::kTable},
                                                 {"json", Format::kJson},
                                                 {"csv", Format::kCsv},
                                                 {"markdown", Format::kMarkdown}};
  auto* format =
      app.add_option("--format", global.format, "table, json, csv or markdown")
          ->transform(CLI::CheckedTransformer(formats, CLI::ignore_case).description(""));
  app.add_flag("--json", json, "the same as --format json")->excludes(format);
  app.add_flag("--quiet,-q", global.quiet, "no progress and no notes on standard error");
  app.parse_complete_callback([&] {
    if (json) global.format = Format::kJson;
  });
  for (const auto add : kCommands) add(app, global);
  for (CLI::App* command : app.get_subcommands({})) command->fallthrough();

  try {
    app.parse(argc, argv);
  } catch (const CLI::RequiredError& error) {
    const std::vector<std::string> words = app.remaining(true);
    if (words.empty()) return app.exit(error), kExitUsage;
    fmt::print(stderr, "telltale: there is no command {}; `telltale --help` lists them\n",
               Visible(words.front()));
    return kExitUsage;
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : kExitUsage;
  } catch (const CommandFailure& failure) {
    fmt::print(stderr, "telltale: {}\n", failure.what());
    return failure.exit_code();
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    fmt::print(stderr, "telltale: standard output could not be written\n");
    return kExitFailed;
  }
  return 0;
}

// A standard stream that is closed would give its number to the next file that is opened, the
// store, and what is printed would be written into it.
void OpenStandardStreams() {
  for (int stream = 0; stream <= 2; ++stream) {
    if (fcntl(stream, F_GETFD) < 0) (void)open("/dev/null", stream == 0 ? O_RDONLY : O_WRONLY);
  }
}

}  // namespace
}  // namespace telltale::cli

int main(int argc, char** argv) {
  telltale::cli::OpenStandardStreams();
#ifdef SIGXFSZ
  (void)std::signal(SIGXFSZ,
                    SIG_IGN);  // a file that may grow no further is an error like a full disk
#endif
  int code = telltale::cli::kExitFailed;
  try {
    code = telltale::cli::Run(argc, argv);
  } catch (const std::system_error& error) {  // of fmt::print
    fmt::print(stderr, "telltale: {}\n", error.what());
  } catch (const std::exception& error) {
    fmt::print(stderr, "telltale: internal error: {}\n", error.what());
  }
  if (telltale::cli::IsKeptToTheEnd()) {
    (void)std::fflush(nullptr);
    std::_Exit(code);
  }
  return code;
}
