#include "launcher/command_line/commands.h"
#include "launcher/measuring/resume.h"

namespace diogenes::launcher {
namespace {

class WithUsage : public CLI::Formatter {
 public:
  explicit WithUsage(std::string usage) : usage_("Usage: " + std::move(usage) + "\n") { column_width(26); }
  std::string make_usage(const CLI::App*, std::string) const override { return usage_; }

 private:
  std::string usage_;
};

}  // namespace

std::shared_ptr<CLI::Formatter> with_usage(std::string usage) {
  return std::make_shared<WithUsage>(std::move(usage));
}

void add_model(CLI::App* command, std::string& model) {
  command->add_option("--model", model, "How the expected benefit is estimated: replay (default) or paper")
      ->type_name("replay|paper")
      ->check(CLI::IsMember({"paper", "replay"}).description(""));
}

void add_owners(CLI::App* command, std::vector<std::string>& own, std::vector<std::string>& library) {
  auto folders = [command](const char* option, const char* sentence, std::vector<std::string>& out) {
    command
        ->add_option_function<std::vector<std::string>>(
            option,
            [&out](const std::vector<std::string>& given) {
              for (const std::string& folder : given) out.push_back(full_path(folder));
            },
            sentence)
        ->type_name("DIR")
        ->allow_extra_args(false);
  };
  folders("--own", "Code from sources or libraries under DIR is yours: problems are shown there", own);
  folders("--library", "Code from sources or libraries under DIR is a library's: its callers are shown",
          library);
}

}  // namespace diogenes::launcher
