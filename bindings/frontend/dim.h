// A dim size while a graph is built: a number, or a dim of the graph.
#ifndef TAILOR_BINDINGS_FRONTEND_DIM_H_
#define TAILOR_BINDINGS_FRONTEND_DIM_H_

#include <cstdint>
#include <vector>

#include "tailor/compiler.h"

namespace tailor::frontend {

// Dims of one graph are canonical: equal structure is an equal Dim. Symbolic dims come from Dims (frontend/dims.h).
class Dim {
 public:
  Dim(int64_t number = 0) : number_(number) {}  // NOLINT(runtime/explicit): lets code write {batch, 1, 4}
  static Dim Symbolic(tailor_dim handle) {
    Dim out;
    out.handle_ = handle;
    return out;
  }

  bool known() const { return handle_ == 0; }
  int64_t number() const { return number_; }     // requires known()
  tailor_dim handle() const { return handle_; }  // requires !known()
  bool is(int64_t number) const { return known() && number_ == number; }
  friend bool operator==(const Dim&, const Dim&) = default;

 private:
  int64_t number_ = 0;
  tailor_dim handle_ = 0;
};

using Shape = std::vector<Dim>;

}  // namespace tailor::frontend

#endif  // TAILOR_BINDINGS_FRONTEND_DIM_H_
