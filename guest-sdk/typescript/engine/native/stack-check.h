/*
 * QuickJS checks how much of its stack is used, so that a script that recurses too deep gets a RangeError; but not
 * where `__wasi__` is defined. Included ahead of its sources: once the C library's headers are through, nothing
 * that is left to compile asks for that name for a better reason.
 */
#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <malloc.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#undef __wasi__
