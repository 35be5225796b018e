#ifndef VUG_CLI_GRAMMAR_OPTIONS_H
#define VUG_CLI_GRAMMAR_OPTIONS_H

#include "cli/options.h"
#include "vug/chat.h"

/* The output constraint of --schema, --grammar, --regex or --tool-choice; NULL without them.
 * `tools` is the text of --tools. */
VUG_MUST_CHECK vug_status vug_grammar_from_options(const vug_options *opt, const vug_model *model,
                                                   const vug_chat *chat, const vug_text *tools,
                                                   vug_grammar **out, vug_err *err);

#endif
