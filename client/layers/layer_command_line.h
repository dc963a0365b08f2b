#ifndef SANDGLASS_CLIENT_LAYERS_LAYER_COMMAND_LINE_H_
#define SANDGLASS_CLIENT_LAYERS_LAYER_COMMAND_LINE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/layers/layer_options.h"

// The name comes from the library.
// NOLINTNEXTLINE(readability-identifier-naming)
namespace CLI {
class App;
}  // namespace CLI

namespace sandglass::client {

// `sandglass layers …` on the command line.
class LayerCommandLine {
 public:
  explicit LayerCommandLine(CLI::App& app);
  LayerCommandLine(const LayerCommandLine&) = delete;
  LayerCommandLine& operator=(const LayerCommandLine&) = delete;

  // Call these only after parsing.
  bool parsed() const;
  absl::StatusOr<LayersOptions> Collect() const;

 private:
  struct Command {
    CLI::App* app;
    std::function<absl::StatusOr<LayersOptions>()> take;
  };
  void AddList();
  void AddBuild();
  void AddRemove();

  CLI::App* layers_;
  ListLayersOptions list_;
  std::vector<Command> commands_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_LAYERS_LAYER_COMMAND_LINE_H_
