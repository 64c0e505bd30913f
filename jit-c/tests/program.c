/* Calls functions of files through the header, as a program in C does. Arguments: a saved executor, a bundle, and a
 * saved frozen function. */
#include <jit.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_at(int line, int holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "program.c:%d: %s does not hold; the last error: %s\n", line, what, jit_last_error());
    exit(1);
}
#define CHECK(condition) check_at(__LINE__, (condition), #condition)

static int last_error_has(const char *text) { return strstr(jit_last_error(), text) != NULL; }

static jit_function *lookup(const jit_bundle *bundle, const char *name) {
    jit_function *function = NULL;
    CHECK(jit_lookup(bundle, name, &function) == JIT_OK);
    return function;
}

/* a * x + y, at a size that the file does not know. */
static void call_saxpy(const jit_function *saxpy, float a, size_t width) {
    float *x = malloc(width * sizeof *x), *y = malloc(width * sizeof *y), *z = malloc(width * sizeof *z);
    for (size_t i = 0; i < width; i++) x[i] = (float)i, y[i] = 0.5f;
    jit_argument arguments[3] = {JIT_NUMBER(JIT_F32, &a), JIT_ARRAY(JIT_F32, x, width), JIT_ARRAY(JIT_F32, y, width)};
    jit_results *results = NULL;
    CHECK(jit_call(saxpy, arguments, 3, &results) == JIT_OK);
    const void *data = NULL;
    size_t count = 0;
    jit_type type = -1;
    CHECK(jit_results_get(results, 0, &data, &count, &type) == JIT_OK);
    CHECK(count == width && type == JIT_F32);
    CHECK(jit_results_get(results, 0, NULL, NULL, NULL) == JIT_OK);
    CHECK(jit_results_copy(results, 0, z, width * sizeof *z) == JIT_OK);
    for (size_t i = 0; i < width; i++) CHECK(z[i] == a * (float)i + 0.5f && z[i] == ((const float *)data)[i]);
    CHECK(jit_results_copy(results, 0, z, sizeof *z) == JIT_ERROR_INVALID && last_error_has("there is room for 4"));
    CHECK(jit_results_get(results, 1, &data, NULL, NULL) == JIT_ERROR_INVALID && last_error_has("no result 1"));
    jit_results_free(results);
    free(x), free(y), free(z);
}

static void *call_from_a_thread(void *saxpy) {
    for (size_t width = 50; width < 60; width++) call_saxpy(saxpy, 3.0f, width);
    return NULL;
}

static void describe_saxpy(const jit_function *saxpy) {
    const char *names[3] = {"a", "x", "y"};
    jit_description it;
    CHECK(jit_argument_count(saxpy) == 3 && jit_result_count(saxpy) == 1);
    for (size_t i = 0; i < 3; i++) {
        CHECK(jit_argument_describe(saxpy, i, &it) == JIT_OK);
        CHECK(strcmp(it.name, names[i]) == 0 && it.type == JIT_F32 && it.is_number == (i == 0));
        CHECK(it.is_changed == 0 && it.axes == 0);
    }
    CHECK(jit_result_describe(saxpy, 0, &it) == JIT_OK);
    CHECK(strcmp(it.name, "result") == 0 && it.type == JIT_F32 && it.is_number == 0);
    CHECK(jit_argument_describe(saxpy, 3, &it) == JIT_ERROR_INVALID && last_error_has("no argument 3"));
    CHECK(jit_result_describe(saxpy, 0, NULL) == JIT_ERROR_NULL);
}

static void refuse_wrong_arguments(const jit_function *saxpy) {
    float a = 1.0f, x[4] = {1, 2, 3, 4};
    int32_t integers[4] = {1, 2, 3, 4};
    jit_results *results = NULL;
    jit_argument right[3] = {JIT_NUMBER(JIT_F32, &a), JIT_ARRAY(JIT_F32, x, 4), JIT_ARRAY(JIT_F32, x, 4)};
    jit_argument wrong[3];
#define WITH(position, ...) memcpy(wrong, right, sizeof right), wrong[position] = (jit_argument)__VA_ARGS__
    CHECK(jit_call(saxpy, right, 2, &results) == JIT_ERROR_INVALID && last_error_has("takes 3 arguments, not 2"));
    WITH(1, JIT_ARRAY(JIT_I32, integers, 4));
    CHECK(jit_call(saxpy, wrong, 3, &results) == JIT_ERROR_INVALID);
    CHECK(last_error_has("`x` of `saxpy` is an array of type f32, not an array of type i32"));
    WITH(0, JIT_ARRAY(JIT_F32, x, 4));
    CHECK(jit_call(saxpy, wrong, 3, &results) == JIT_ERROR_INVALID && last_error_has("`a`"));
    WITH(2, JIT_ARRAY(JIT_F32, x, 3));
    CHECK(jit_call(saxpy, wrong, 3, &results) == JIT_ERROR_INVALID);
    CHECK(last_error_has("y.width() == x.width()") && last_error_has("y.width() is 3"));
    WITH(1, JIT_ARRAY(99, x, 4));
    CHECK(jit_call(saxpy, wrong, 3, &results) == JIT_ERROR_INVALID && last_error_has("argument 1, `x`, has the unknown type 99"));
    WITH(1, JIT_ARRAY(JIT_F32, NULL, 4));
    CHECK(jit_call(saxpy, wrong, 3, &results) == JIT_ERROR_NULL && last_error_has("`data` of the argument 1, `x`,"));
    WITH(1, JIT_ARRAY(JIT_F32, x, SIZE_MAX / 2));
    CHECK(jit_call(saxpy, wrong, 3, &results) == JIT_ERROR_INVALID && last_error_has("`x`, has more elements"));
    WITH(0, {.type = JIT_F32, .is_number = 1, .data = &a, .width = 2});
    CHECK(jit_call(saxpy, wrong, 3, &results) == JIT_ERROR_INVALID && last_error_has("argument 0, `a`, is a number"));
    WITH(1, JIT_TENSOR(JIT_F32, x, 4, NULL, 1));
    CHECK(jit_call(saxpy, wrong, 3, &results) == JIT_ERROR_NULL && last_error_has("`shape` of the argument 1, `x`,"));
    size_t shape[1] = {4};
    WITH(1, JIT_TENSOR(JIT_F32, x, 4, shape, 1));
    CHECK(jit_call(saxpy, wrong, 3, &results) == JIT_ERROR_INVALID && last_error_has("`x` has 0 axes, not 1"));
    CHECK(jit_call(NULL, right, 3, &results) == JIT_ERROR_NULL && last_error_has("`function`"));
    CHECK(jit_call(saxpy, NULL, 3, &results) == JIT_ERROR_NULL && last_error_has("`arguments`"));
    CHECK(jit_call(saxpy, right, 3, NULL) == JIT_ERROR_NULL && last_error_has("`results`"));
    CHECK(results == NULL);
}

static void refuse_wrong_files(const char *path) {
    jit_bundle *bundle = NULL;
    CHECK(jit_open("/no/such/file.jit", &bundle) == JIT_ERROR_IO && last_error_has("/no/such/file.jit"));
    CHECK(jit_open(NULL, &bundle) == JIT_ERROR_NULL && jit_open(path, NULL) == JIT_ERROR_NULL);
    CHECK(jit_open_bytes("a text", 6, &bundle) == JIT_ERROR_IO && last_error_has("not a file of recordings"));
    CHECK(jit_open_bytes(NULL, 6, &bundle) == JIT_ERROR_NULL);
    FILE *file = fopen(path, "rb");
    unsigned char bytes[1 << 16];
    CHECK(file != NULL);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    CHECK(jit_open_bytes(bytes, size / 2, &bundle) == JIT_ERROR_IO && last_error_has("cut off"));
    bytes[size - 1] ^= 1;
    CHECK(jit_open_bytes(bytes, size, &bundle) == JIT_ERROR_IO && last_error_has("damaged"));
    bytes[8] = 200;
    CHECK(jit_open_bytes(bytes, size, &bundle) == JIT_ERROR_IO && last_error_has("version 200"));
    CHECK(bundle == NULL);
}

static void call_saved(const char *path) {
    jit_bundle *bundle = NULL;
    CHECK(jit_open(path, &bundle) == JIT_OK && jit_count(bundle) == 1 && strcmp(jit_name(bundle, 0), "saxpy") == 0);
    CHECK(jit_name(bundle, 1) == NULL && jit_name(NULL, 0) == NULL && jit_count(NULL) == 0);
    jit_function *saxpy = lookup(bundle, "saxpy"), *none = NULL;
    CHECK(jit_lookup(bundle, "axpy", &none) == JIT_ERROR_INVALID && last_error_has("it has \"saxpy\"") && none == NULL);
    CHECK(jit_lookup(bundle, NULL, &none) == JIT_ERROR_NULL && jit_lookup(NULL, "saxpy", &none) == JIT_ERROR_NULL);
    jit_close(bundle); /* a function outlives its bundle */
    describe_saxpy(saxpy);
    call_saxpy(saxpy, 2.0f, 5);
    call_saxpy(saxpy, -1.5f, 100000);
    refuse_wrong_arguments(saxpy);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, call_from_a_thread, saxpy) == 0);
    for (int i = 0; i < 4; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    jit_function_free(saxpy);
}

/* A number alone, in expressions with literals, in functions of floats, and in a cast. */
static void call_with_numbers(const jit_bundle *bundle) {
    jit_function *saxpy = lookup(bundle, "saxpy");
    float a = -4.0f, x[3] = {0, 1, 2}, y[3] = {2, 2, 2};
    uint32_t n = 3;
    jit_argument arguments[4] = {
        JIT_NUMBER(JIT_F32, &a), JIT_NUMBER(JIT_U32, &n), JIT_ARRAY(JIT_F32, x, 3), JIT_ARRAY(JIT_F32, y, 3)};
    jit_results *results = NULL;
    float z[3];
    CHECK(jit_call(saxpy, arguments, 4, &results) == JIT_OK && jit_results_copy(results, 0, z, sizeof z) == JIT_OK);
    for (int i = 0; i < 3; i++) CHECK(z[i] == (a * x[i] + a * 0.5f * y[i]) + fmaxf(fabsf(-a), 1.5f) + (float)n * x[i]);
    jit_results_free(results);
    jit_function_free(saxpy);
}

/* Arrays that a call changes are its first results. */
static void call_with_state(const jit_bundle *bundle, size_t width) {
    jit_function *accumulate = lookup(bundle, "accumulate");
    const char *names[5] = {"state.sum", "state.counts[0]", "state.counts[1]", "x", "list[0]"};
    jit_description it;
    CHECK(jit_argument_count(accumulate) == 5 && jit_result_count(accumulate) == 4);
    for (size_t i = 0; i < 5; i++) {
        CHECK(jit_argument_describe(accumulate, i, &it) == JIT_OK && strcmp(it.name, names[i]) == 0);
        CHECK(it.is_changed == (i < 3) && it.is_number == 0);
    }
    CHECK(jit_result_describe(accumulate, 1, &it) == JIT_OK && strcmp(it.name, "state.counts[0]") == 0);
    float *x = malloc(width * sizeof *x);
    for (size_t i = 0; i < width; i++) x[i] = 1.0f;
    uint32_t counts[4] = {1, 2, 3, 4}, index[3] = {1, 1, 3};
    jit_argument arguments[5] = {
        JIT_ARRAY(JIT_F32, x, width), JIT_ARRAY(JIT_U32, counts, 4), JIT_ARRAY(JIT_U32, counts, 2),
        JIT_ARRAY(JIT_F32, x, width), JIT_ARRAY(JIT_U32, index, 3)};
    jit_results *results = NULL;
    CHECK(jit_call(accumulate, arguments, 5, &results) == JIT_OK);
    const void *data[4];
    size_t widths[4];
    for (size_t i = 0; i < 4; i++) CHECK(jit_results_get(results, i, &data[i], &widths[i], NULL) == JIT_OK);
    CHECK(widths[0] == width && widths[1] == 4 && widths[2] == 2 && widths[3] == width);
    for (size_t i = 0; i < width; i++) CHECK(((const float *)data[0])[i] == 6.0f);
    for (size_t i = 0; i < width; i++) CHECK(((const float *)data[3])[i] == (float)(i + 1));
    uint32_t wanted[4] = {1, 4, 3, 5};
    CHECK(memcmp(data[1], wanted, sizeof wanted) == 0 && memcmp(data[2], counts, 8) == 0);
    CHECK(counts[1] == 2 && x[0] == 1.0f); /* the arguments are as they were */
    jit_results_free(results);
    jit_function_free(accumulate);
    free(x);
}

/* Returns the recording of a function with a fixed value. */
static jit_function *recording_with(const jit_function *function, const char *name, const char *value) {
    for (size_t at = 0; at < jit_recording_count(function); at++) {
        jit_function *recording = NULL;
        CHECK(jit_recording(function, at, &recording) == JIT_OK && jit_recording_count(recording) == 1);
        for (size_t of = 0; of < jit_fixed_count(recording); of++) {
            const char *path = NULL, *text = NULL;
            CHECK(jit_fixed_describe(recording, of, &path, &text) == JIT_OK);
            CHECK(jit_fixed_describe(recording, of, NULL, NULL) == JIT_OK);
            if (strcmp(path, name) == 0 && strcmp(text, value) == 0) return recording;
        }
        jit_function_free(recording);
    }
    return NULL;
}

/* A frozen function has several recordings, which differ in whether it is training. */
static void call_frozen(const char *path) {
    jit_bundle *bundle = NULL;
    CHECK(jit_open(path, &bundle) == JIT_OK && jit_count(bundle) == 1 && strcmp(jit_name(bundle, 0), "layered") == 0);
    jit_function *layered = lookup(bundle, "layered"), *none = NULL;
    jit_close(bundle);
    CHECK(jit_recording_count(layered) > 1 && jit_recording_count(NULL) == 0 && jit_fixed_count(NULL) == 0);
    CHECK(jit_recording(layered, 99, &none) == JIT_ERROR_INVALID && last_error_has("no recording 99") && none == NULL);
    CHECK(jit_recording(NULL, 0, &none) == JIT_ERROR_NULL && jit_recording(layered, 0, NULL) == JIT_ERROR_NULL);
    CHECK(jit_fixed_describe(layered, 99, NULL, NULL) == JIT_ERROR_INVALID && last_error_has("no fixed value 99"));
    float weight[6] = {0, 1, 2, 3, 4, 5}, calls = 7, x[10] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, gain = 4, y[2] = {1, 2};
    size_t of_weight[2] = {2, 3}, of_x[2] = {5, 2};
    jit_argument arguments[5] = {
        JIT_TENSOR(JIT_F32, weight, 6, of_weight, 2), JIT_ARRAY(JIT_F32, &calls, 1),
        JIT_TENSOR(JIT_F32, x, 10, of_x, 2), JIT_NUMBER(JIT_F32, &gain), JIT_ARRAY(JIT_F32, y, 2)};
    jit_results *results = NULL;
    CHECK(jit_call(layered, arguments, 5, &results) == JIT_ERROR_INVALID);
    CHECK(last_error_has("differ in `layer.is_training`"));
    const char *values[2] = {"false (bool)", "true (bool)"};
    for (int is_training = 0; is_training < 2; is_training++) {
        jit_function *recording = recording_with(layered, "layer.is_training", values[is_training]);
        CHECK(recording != NULL);
        if (jit_argument_count(recording) == 6) {
            /* The one that was used last takes a constant, too. */
            jit_function_free(recording);
            CHECK(jit_recording(layered, 1, &recording) == JIT_OK);
        }
        CHECK(jit_call(recording, arguments, 5, &results) == JIT_OK);
        const void *data = NULL;
        const size_t *shape = NULL;
        size_t axes = 9;
        CHECK(jit_results_shape(results, 2, &shape, &axes) == JIT_OK && axes == 2 && shape[0] == 5 && shape[1] == 3);
        CHECK(jit_results_shape(results, 1, NULL, &axes) == JIT_OK && axes == 0);
        CHECK(jit_results_shape(results, 4, NULL, NULL) == JIT_ERROR_INVALID && last_error_has("no result 4"));
        CHECK(jit_results_get(results, 2, &data, NULL, NULL) == JIT_OK);
        for (size_t i = 0; i < 15; i++) CHECK(((const float *)data)[i] == 3 + 2 * (float)(i % 3));
        CHECK(jit_results_get(results, 3, &data, NULL, NULL) == JIT_OK);
        for (size_t i = 0; i < 2; i++) CHECK(((const float *)data)[i] == gain * y[i] + calls + (float)is_training);
        jit_description it;
        CHECK(jit_result_describe(recording, 2, &it) == JIT_OK && it.axes == 2 && strcmp(it.name, "result[0]") == 0);
        jit_results_free(results);
        jit_function_free(recording);
    }
    jit_function_free(layered);
}

int main(int count, char **arguments) {
    CHECK(count == 4 && jit_abi_version() == JIT_ABI_VERSION && strlen(jit_version()) > 0);
    CHECK(strcmp(jit_last_error(), "") == 0);
    refuse_wrong_files(arguments[1]);
    call_saved(arguments[1]);
    jit_bundle *bundle = NULL;
    CHECK(jit_open(arguments[2], &bundle) == JIT_OK && jit_count(bundle) == 4);
    call_with_numbers(bundle);
    call_with_state(bundle, 7);
    call_with_state(bundle, 3000);
    jit_close(bundle);
    call_frozen(arguments[3]);
    jit_close(NULL), jit_function_free(NULL), jit_results_free(NULL);
    puts("all holds");
    return 0;
}
