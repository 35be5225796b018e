#ifndef VUG_CLI_TOOL_RESULTS_H
#define VUG_CLI_TOOL_RESULTS_H

/* Results of tool calls, which the user types: vug itself carries out no calls. */

#include "cli/conversation.h"
#include "cli/line_editor.h"

/* Asks for the result of each call in the last message and adds it as a message. Returns false
 * if the user cancelled. The remaining calls then get the result that they were not carried out,
 * because many servers require one for each call. */
bool vug_tool_results_prompt(vug_line_editor *editor, const vug_ui *ui, vug_chat_history *history);

#endif
