// The benefit of one set of changes by both models. In: graph, replay. Out: the figure of the chosen model
// with its range, and the other model's beside it.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "analysis/replay/replay.h"

namespace diogenes {

enum class Model : uint8_t { replay, paper };
const char* model_name(Model model);
// "replay", or anything else for `paper`.
Model model_of(std::string_view name);

struct Figure {
  Nanoseconds benefit;        // by the chosen model
  Nanoseconds low, high;      // holds `benefit`
  Nanoseconds paper, replay;  // by each
  std::string reason;         // why the range is wide; "" if it is not
};

class Models {
 public:
  // Both must outlive it. Without a replay there is the model `paper` alone, and no range.
  Models(const EventGraph& graph, const Replay* replay, Model model)
      : graph_(graph), replay_(replay), model_(model) {}
  Figure figure(const std::vector<Change>& changes) const;
  // Of several problems fixed together.
  using Parts = std::vector<const std::vector<Change>*>;
  Figure figure(const Parts& parts) const;
  // Of each of these, on two threads.
  std::vector<Figure> figures(const std::vector<Parts>& of) const;
  // What is made already, with what it gains.
  struct Made {
    std::vector<Change> changes;
    Nanoseconds paper;
    std::optional<Replay::Made> replayed;
  };
  Made make(const Parts& parts) const;
  // What each gains beyond that. Where both change an operation, it is in the place of that.
  std::vector<Figure> figures_beyond(const Made& made, const std::vector<Parts>& of) const;
  // What is gained beyond that where GPU work takes less time (Replay::shorter_by); by the replay alone.
  Nanoseconds shorter_beyond(const Made& made,
                             const std::function<Nanoseconds(uint32_t, uint32_t, uint32_t)>& less) const;

 private:
  Figure with_replay(Nanoseconds paper, const std::vector<Change>& changes, const Replay::Made* before) const;

  const EventGraph& graph_;
  const Replay* replay_;
  Model model_;
};

}  // namespace diogenes
