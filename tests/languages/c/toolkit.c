// A toolkit in C that is written against the contract alone. roman.h is generated from wit/.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "roman.h"

typedef exports_kitbag_toolkit_tools_invocation_t invocation_t;
typedef exports_kitbag_toolkit_tools_tool_result_t result_t;
typedef exports_kitbag_toolkit_tools_call_error_t error_t;

static const char MANIFEST[] =
    "{\"id\": \"roman\", \"name\": \"Roman numerals\", \"description\": \"Writes numbers as the Romans did.\","
    " \"icon\": \"🏛️\", \"version\": \"1.0.0\", \"visibility\": \"shared\", \"tools\": ["
    "{\"name\": \"write\", \"description\": \"Writes a number as the Romans did.\", \"inputSchema\":"
    " {\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"number\"], \"properties\":"
    " {\"number\": {\"type\": \"integer\", \"minimum\": 0, \"maximum\": 3999}}}}]}";

static const int VALUES[] = {1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1};
static const char *const NUMERALS[] = {"M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"};

// What is returned is freed by the bindings, so each string is a copy.
static roman_string_t copy(const char *text) {
    roman_string_t string;
    roman_string_dup(&string, text);
    return string;
}

// The schema allows one member, a number, so it is what follows the colon.
static int number_in(const roman_string_t *json) {
    char text[64];
    snprintf(text, sizeof text, "%.*s", (int)json->len, (const char *)json->ptr);
    return (int)strtod(strchr(text, ':') + 1, NULL);
}

static void log_number(int number) {
    char json[16];
    snprintf(json, sizeof json, "%d", number);
    roman_string_t entry = {(uint8_t *)json, strlen(json)};
    roman_list_string_t entries = {&entry, 1};
    kitbag_toolkit_log_write(&entries);
}

void exports_kitbag_toolkit_tools_describe(roman_string_t *manifest) {
    *manifest = copy(MANIFEST);
}

// Returns whether the call succeeded, and fills in one of the two.
bool exports_kitbag_toolkit_tools_call(invocation_t *invocation, result_t *result, error_t *error) {
    int rest = number_in(&invocation->arguments);
    log_number(rest);
    if (rest == 0) {
        memset(error, 0, sizeof *error);
        error->tag = EXPORTS_KITBAG_TOOLKIT_TOOLS_CALL_ERROR_TOOL_ERROR;
        error->val.tool_error.message = copy("The Romans had no zero.");
        return false;
    }

    // The longest is that of 3888.
    char numerals[16] = "";
    for (size_t i = 0; rest > 0; i++) {
        for (; rest >= VALUES[i]; rest -= VALUES[i]) strcat(numerals, NUMERALS[i]);
    }
    memset(result, 0, sizeof *result);
    result->text = copy(numerals);
    return true;
}
