/*
 * Enables the stack check of QuickJS, by which a script that recurses too deep gets a RangeError. QuickJS
 * disables it if `__wasi__` is defined. This file is included ahead of its sources: it includes the C
 * library's headers, which need the name, and then undefines it, as the sources need it for nothing else.
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
