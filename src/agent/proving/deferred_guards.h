// Guards that stand for deferred waits: whoever touches them awaits those first (guard_table.h, DeferredWaits).
#pragma once
#include "agent/watching/guard/guards.h"
#include "trace/corrector_services.h"

namespace diogenes::agent {

void start_deferred_guards();  // once, before there are guards

// A guard that is up stands for another deferral from now on. False: it is not up any more.
bool defer_guard(GuardHandle guard, Deferral deferral, bool tells);

// Waits until everything that guards over these pages were deferred for is done; `reading`: for guards against reading.
// Whatever takes a guard down from outside does so first.
void await_deferred(AddressRange pages, bool reading = false);

}  // namespace diogenes::agent
