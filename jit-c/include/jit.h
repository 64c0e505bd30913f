/* jit: calls functions that a program in Rust has compiled, without a compiler.
 *
 * A file of `save` of an executor, a frozen function or a traced module has one function, and a file of `jit::bundle`
 * several. A program opens it, looks a function up, and calls it with arrays in its own memory. Calls may have other
 * sizes than those compiled or recorded for.
 *
 *     jit_bundle *bundle = NULL;
 *     jit_function *saxpy = NULL;
 *     jit_results *results = NULL;
 *     if (jit_open("kernels.jit", &bundle) || jit_lookup(bundle, "saxpy", &saxpy)) fail(jit_last_error());
 *     jit_argument arguments[3] = {JIT_NUMBER(JIT_F32, &a), JIT_ARRAY(JIT_F32, x, n), JIT_ARRAY(JIT_F32, y, n)};
 *     if (jit_call(saxpy, arguments, 3, &results)) fail(jit_last_error());
 *     if (jit_results_copy(results, 0, z, n * sizeof(float))) fail(jit_last_error());
 *
 * Every function that can fail returns a status, JIT_OK being 0, and then leaves what it would return as it was.
 * jit_last_error() describes the failure.
 *
 * Threads: a bundle or function may be used by any number of threads at once, results by one at a time. Whoever frees
 * a handle sees to it that nobody uses it any more. A function outlives its bundle, and results their function.
 *
 * Trust: machine code in a file is run. Whoever could write the file is trusted, as with a shared library.
 */
#ifndef JIT_H
#define JIT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. A library with another one must not be used: compare it with jit_abi_version(). */
#define JIT_ABI_VERSION 2

typedef int32_t jit_status;
enum {
    JIT_OK = 0,
    JIT_ERROR_NULL = 1,           /* a pointer is NULL that must not be */
    JIT_ERROR_IO = 2,             /* a file that cannot be read, or is none of jit, or too new, or damaged */
    JIT_ERROR_INVALID = 3,        /* arguments that do not fit the function; a name or position that is not there */
    JIT_ERROR_OUT_OF_MEMORY = 4,  /* there is no memory for the results */
    JIT_ERROR_FAILED = 5,         /* the function failed while it ran */
    JIT_ERROR_INTERNAL = 6        /* a bug of the library */
};

/* Types of elements. A bool is a byte, 0 or 1; f16 and bf16 are passed by their bits, in 2 bytes. */
typedef int32_t jit_type;
enum {
    JIT_BOOL = 0,
    JIT_I8 = 1,
    JIT_I16 = 2,
    JIT_I32 = 3,
    JIT_I64 = 4,
    JIT_U8 = 5,
    JIT_U16 = 6,
    JIT_U32 = 7,
    JIT_U64 = 8,
    JIT_F16 = 9,
    JIT_BF16 = 10,
    JIT_F32 = 11,
    JIT_F64 = 12
};

typedef struct jit_bundle jit_bundle;     /* an open file */
typedef struct jit_function jit_function; /* a function of it */
typedef struct jit_results jit_results;   /* the arrays that a call has returned */

/* An array or number that a function takes or returns. */
typedef struct jit_description {
    const char *name;    /* its path, such as "x" or "state.counts[1]"; lives as long as the function */
    jit_type type;       /* the type of its elements */
    int32_t is_number;   /* 1 for a number, 0 for an array */
    int32_t is_changed;  /* 1 for an array among the arguments that a call changes: the new one is a result */
    size_t axes;         /* the number of axes of a tensor, whose lengths are its shape; otherwise 0 */
} jit_description;

/* An argument of a call. The library reads the data during the call only, and changes nothing. */
typedef struct jit_argument {
    jit_type type;        /* the type of the elements */
    int32_t is_number;    /* 1 for a number */
    const void *data;     /* the elements, or the number; NULL if there are none */
    size_t width;         /* the number of elements; 1 for a number */
    const size_t *shape;  /* the lengths of the axes; NULL if there are none */
    size_t axes;          /* the number of axes */
} jit_argument;

#define JIT_NUMBER(type, pointer) {type, 1, pointer, 1, NULL, 0}
#define JIT_ARRAY(type, pointer, width) {type, 0, pointer, width, NULL, 0}
#define JIT_TENSOR(type, pointer, width, shape, axes) {type, 0, pointer, width, shape, axes}

/* The version of the interface that the library has. */
uint32_t jit_abi_version(void);

/* The version of the library, such as "0.1.0". */
const char *jit_version(void);

/* Why the last function of this thread that failed has failed: what was wrong, where, and what to do. Lives until the
 * next failure on this thread; "" if there was none. */
const char *jit_last_error(void);

/* Opens a file. jit_open_bytes copies what it needs. */
jit_status jit_open(const char *path, jit_bundle **bundle);
jit_status jit_open_bytes(const void *bytes, size_t size, jit_bundle **bundle);
void jit_close(jit_bundle *bundle);

/* The functions of a file: their number and names, which live as long as the bundle. NULL for other positions. */
size_t jit_count(const jit_bundle *bundle);
const char *jit_name(const jit_bundle *bundle, size_t position);

/* Looks a function up by its name. */
jit_status jit_lookup(const jit_bundle *bundle, const char *name, jit_function **function);
void jit_function_free(jit_function *function);

/* The recordings of a function. An executor has one. A frozen function or traced module has one for each kind of
 * arguments, of which a call replays the one that fits and was used last before the function was saved. Where several
 * fit that differ in fixed values, as a mode of training, a call is an error: call one recording, which is a function,
 * too. The recording 0 was used last. */
size_t jit_recording_count(const jit_function *function);
jit_status jit_recording(const jit_function *function, size_t position, jit_function **recording);

/* The values that are part of a recording, by their paths: numbers in structures, lengths of lists, variants of enums,
 * texts, constants. No call passes them. Name and value are texts that live as long as the function; each may be NULL.
 * Of a function with several recordings these are the values of the first one, as are what it takes and returns. */
size_t jit_fixed_count(const jit_function *function);
jit_status jit_fixed_describe(const jit_function *function, size_t position, const char **name, const char **value);

/* What a function takes and returns. First among the results are the arrays that a call changes. Values that were fixed
 * when the function was compiled, such as numbers by which it decided, are no arguments. */
size_t jit_argument_count(const jit_function *function);
jit_status jit_argument_describe(const jit_function *function, size_t position, jit_description *description);
size_t jit_result_count(const jit_function *function);
jit_status jit_result_describe(const jit_function *function, size_t position, jit_description *description);

/* Calls a function, and waits for its results. */
jit_status jit_call(const jit_function *function, const jit_argument *arguments, size_t count, jit_results **results);

/* A result of a call: its elements, aligned to 8 bytes, which live as long as the results; and how many there are. Each
 * of the last three may be NULL. */
jit_status jit_results_get(
    const jit_results *results, size_t position, const void **data, size_t *width, jit_type *type);

/* The lengths of the axes of a result that is a tensor, which live as long as the results; and how many there are. Each
 * of the last two may be NULL. A file that an earlier version has written has no shapes: there are no axes then. */
jit_status jit_results_shape(const jit_results *results, size_t position, const size_t **shape, size_t *axes);

/* Copies a result to memory of exactly its size in bytes. */
jit_status jit_results_copy(const jit_results *results, size_t position, void *to, size_t size);
void jit_results_free(jit_results *results);

#ifdef __cplusplus
}
#endif

#endif
