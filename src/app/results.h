#ifndef VUG_APP_RESULTS_H
#define VUG_APP_RESULTS_H

/* Results of tool calls, for which a person is asked: nothing here carries a call out. */

#include "app/line.h"
#include "app/talk.h"

/* For each call of the last message, one after the other, a message with its result, under
 * its id. False when the person gave up: then those that are left were not carried out, which
 * is their result, for many servers insist on one, and the model need not be asked. */
bool vug_results_ask(vug_line *line, const vug_ui *ui, vug_talk *talk);

#endif
