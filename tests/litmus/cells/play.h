// A cell, played: the work, the synchronization that is tested, the consumer.
#pragma once
#include "scene.h"

namespace litmus {

void play(const Cell& cell, Scene& scene);

}  // namespace litmus
