#include "client/layers/layer_command_line.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/flags/flag_values.h"
#include "client/flags/library_lock.h"

namespace sandglass::client {

LayerCommandLine::LayerCommandLine(CLI::App& app) {
  layers_ = app.add_subcommand(
      "layers", "Show, install and remove sets of libraries for runs");
  layers_->require_subcommand(0, 1);
  AddList();
  AddBuild();
  AddRemove();
}

void LayerCommandLine::AddList() {
  CLI::App* list = layers_->add_subcommand(
      "list", "Show what is installed (as without a command)");
  CLI::Option* language =
      AddValue(*list, "-l,--lang", "Only those of this language", "LANG");
  layers_->add_flag("--json", list_.json, "As proto JSON");
  commands_.push_back(
      {list, [this, language]() -> absl::StatusOr<LayersOptions> {
         ListLayersOptions options = list_;
         options.language = ValueOf(language).value_or("");
         return LayersOptions(options);
       }});
}

void LayerCommandLine::AddBuild() {
  CLI::App* build = layers_->add_subcommand(
      "build", "Install a set, if it isn't there, and print its id");
  auto flags = std::make_shared<BuildLayerOptions>();
  CLI::Option* language =
      AddValue(*build, "LANGUAGE", "Id or alias of their language", "LANG");
  language->required();
  CLI::Option* libraries = AddWords(
      *build, "LIBRARY",
      "As the language's tool names it: six==1.16.0, lodash@^4", "NAME");
  CLI::Option* lock = AddLibraryLock(*build);
  CLI::Option* profile =
      AddValue(*build, "--profile",
               "Whose list of libraries holds (default: default)", "NAME");
  build->add_flag("-q,--quiet", flags->quiet,
                  "Nothing of what the installer says");
  commands_.push_back({build,
                       [this, flags, language, libraries, lock,
                        profile]() -> absl::StatusOr<LayersOptions> {
                         BuildLayerOptions options = *flags;
                         options.json = list_.json;
                         options.language = ValueOf(language).value_or("");
                         options.libraries = libraries->results();
                         options.lock_file = ValueOf(lock);
                         options.profile = ValueOf(profile).value_or("");
                         if (options.libraries.empty() && !options.lock_file) {
                           return absl::InvalidArgumentError(
                               "give a LIBRARY or --library-lock FILE");
                         }
                         return LayersOptions(std::move(options));
                       }});
}

void LayerCommandLine::AddRemove() {
  CLI::App* remove = layers_->add_subcommand(
      "rm", "Remove sets that nothing uses; for operators");
  CLI::Option* ids =
      AddWords(*remove, "LAYER_ID",
               "The layer's id, or its first digits, 8 or more", "ID");
  ids->required();
  commands_.push_back(
      {remove, [this, ids]() -> absl::StatusOr<LayersOptions> {
         return LayersOptions(RemoveLayersOptions{ids->results(), list_.json});
       }});
}

bool LayerCommandLine::parsed() const { return layers_->parsed(); }

absl::StatusOr<LayersOptions> LayerCommandLine::Collect() const {
  for (const Command& command : commands_) {
    if (command.app->parsed()) return command.take();
  }
  // Without a command, users want the list.
  return LayersOptions(list_);
}

}  // namespace sandglass::client
