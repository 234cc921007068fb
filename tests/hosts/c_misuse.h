/* What the parts of c_misuse_test share: what a program has, and how results of calls are judged. */
#ifndef TAILOR_TESTS_HOSTS_C_MISUSE_H_
#define TAILOR_TESTS_HOSTS_C_MISUSE_H_

#include "tailor/compiler.h"

#define MAX_VALUES 40

extern tailor_executable *plain, *donating; /* x[N, 4] -> y[N, 4], rows[N]; cache[S, 4], at, row -> next */
extern tailor_runtime* runtime;
extern tailor_session *session, *donating_session;
extern tailor_graph* graphs[2];
extern tailor_value values[MAX_VALUES];
extern tailor_dim dims[MAX_VALUES];
extern int value_count, dim_count;
extern float memory[256], results[256];

/* Random numbers: below `count`; small, large and extreme ones. */
unsigned pick(unsigned count);
int64_t number(void);

void fail(const char* what, const char* text);
/* The result of a call that may be right. Returns whether it was. */
int may(tailor_status* status, const char* what);
/* The result of a mistake: `code`, 0 for any; INVALID_ARGUMENT. */
void must_code(tailor_status* status, int32_t code, const char* what);
void must(tailor_status* status, const char* what);

void new_input(tailor_graph* graph);
void set_tensor(tailor_tensor* tensor, void* data, int32_t dtype, int32_t rank, int64_t rows, int64_t columns);

typedef struct {
  tailor_tensor x, outputs[2];
} Run;
/* Right arguments of plain. */
void set_run(Run* run);

/* Mistakes with arguments. */
void null_arguments(void);
void other_handles(void);
void struct_sizes(void);
void wrong_tensors(void);
void wrong_donation(void);
void wrong_indices(void);
void wrong_options(void);
void wrong_files(void);
void wrong_operators(void);
/* Calls in a wrong order, and during other calls. */
void wrong_order(void);
void nested_calls(void);
void cancelled_compilation(void);
void two_threads(void);

#endif /* TAILOR_TESTS_HOSTS_C_MISUSE_H_ */
