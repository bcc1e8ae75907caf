// A search in a sorted range that begins where the last one ended: whoever asks in order finds what he asks for a
// few elements further on.
#pragma once
#include <algorithm>
#include <iterator>

namespace diogenes {

// The first element of [begin, end) that is not `before`, as std::partition_point. `from`: where it likely is, or a
// little before that.
template <typename Iterator, typename Before>
Iterator partition_point_near(Iterator begin, Iterator from, Iterator end, Before before) {
  if (from != begin && !before(*std::prev(from))) from = begin;
  for (typename std::iterator_traits<Iterator>::difference_type step = 1; end - from > step; step *= 2) {
    if (!before(from[step - 1])) return std::partition_point(from, from + step, before);
    from += step;
  }
  return std::partition_point(from, end, before);
}

}  // namespace diogenes
