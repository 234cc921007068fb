// Two units that are linked: as C++17 and as C++20.
#ifndef TAILOR_TESTS_HOSTS_CPP_UNITS_HPP_
#define TAILOR_TESTS_HOSTS_CPP_UNITS_HPP_

#include "tailor/tailor.hpp"

// Defined in cpp_second_unit.cc.
tailor::Value TwiceIn(const tailor::Graph& graph, const tailor::Value& x);
tailor::Result<tailor::Outputs> RunIn(tailor::Session& session, tailor::Span<const tailor::ConstTensorView> inputs);

#endif  // TAILOR_TESTS_HOSTS_CPP_UNITS_HPP_
