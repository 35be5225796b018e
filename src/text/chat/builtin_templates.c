#include "text/chat/builtin_templates.h"

/*
 * The documented formats of model families, as templates of our own. Their output follows the
 * format to the letter: the sentences about tools in Qwen's are those the models were trained
 * on. Sources: the vendors' pages on prompts (Gemma's "Prompt formatting", Gemma 4's, Llama 3's)
 * and the templates beside the weights (Qwen 2.5, Qwen 3).
 */

/* clang-format off */

/* Gemma 1 and 2 have no system message; it is written as Gemma 3 writes it. */
static const char gemma[] =
        "{%- set ns = namespace(head='', turn='model') -%}\n"
        "{{- bos_token -}}\n"
        "{%- for m in messages -%}\n"
        "  {%- if loop.first and m.role == 'system' -%}\n"
        "    {%- set ns.head = (m.content if m.content is string else m.content[0].text) + "
        "'\\n\\n' -%}\n"
        "  {%- else -%}\n"
        "    {%- set turn = 'model' if m.role == 'assistant' else m.role -%}\n"
        "    {%- if turn not in ['user', 'model'] or turn == ns.turn -%}\n"
        "      {{- raise_exception('conversation roles must alternate "
        "user/assistant/user/assistant: found ' + m.role) -}}\n"
        "    {%- endif -%}\n"
        "    {%- set ns.turn = turn -%}\n"
        "    {{- '<start_of_turn>' + turn + '\\n' + ns.head -}}\n"
        "    {%- set ns.head = '' -%}\n"
        "    {%- if m.content is string -%}\n"
        "      {{- m.content | trim -}}\n"
        "    {%- else -%}\n"
        "      {%- for part in m.content -%}\n"
        "        {{- '<start_of_image>' if part.type == 'image' else part.text | trim -}}\n"
        "      {%- endfor -%}\n"
        "    {%- endif -%}\n"
        "    {{- '<end_of_turn>\\n' -}}\n"
        "  {%- endif -%}\n"
        "{%- endfor -%}\n"
        "{%- if not messages -%}\n"
        "  {{- raise_exception('a conversation needs at least one message') -}}\n"
        "{%- endif -%}\n"
        "{%- if add_generation_prompt -%}\n"
        "  {{- '<start_of_turn>model\\n' -}}\n"
        "{%- endif -%}";

static const char gemma4_macros[] =
        "{%- macro value(v) -%}\n"
        "  {%- if v is string -%}\n"
        "    {{- '<|\"|>' + v + '<|\"|>' -}}\n"
        "  {%- elif v is boolean or v is none -%}\n"
        "    {{- 'null' if v is none else 'true' if v else 'false' -}}\n"
        "  {%- elif v is mapping -%}\n"
        "    {{- '{' + members(v) + '}' -}}\n"
        "  {%- elif v is sequence -%}\n"
        "    {{- '[' -}}\n"
        "    {%- for x in v -%}\n"
        "      {{- ('' if loop.first else ',') + value(x) -}}\n"
        "    {%- endfor -%}\n"
        "    {{- ']' -}}\n"
        "  {%- else -%}\n"
        "    {{- v -}}\n"
        "  {%- endif -%}\n"
        "{%- endmacro -%}\n"
        "{%- macro members(v) -%}\n"
        "  {%- for key, x in v | dictsort -%}\n"
        "    {{- ('' if loop.first else ',') + key + ':' + value(x) -}}\n"
        "  {%- endfor -%}\n"
        "{%- endmacro -%}\n"
        "{%- macro schema(s) -%}\n"
        "  {%- set type = s.type | upper if s.type is string else '' -%}\n"
        "  {{- 'description:' + value(s.description) + ',' if s.description -}}\n"
        "  {{- 'enum:' + value(s.enum) + ',' if s.enum and type == 'STRING' -}}\n"
        "  {%- if type == 'ARRAY' and s['items'] is mapping -%}\n"
        "    {{- 'items:{' + schema(s['items']) + '},' -}}\n"
        "  {%- endif -%}\n"
        "  {{- 'nullable:true,' if s.nullable -}}\n"
        "  {%- if s.properties is mapping and s.properties -%}\n"
        "    {{- 'properties:{' -}}\n"
        "    {%- for key, p in s.properties | dictsort -%}\n"
        "      {{- ('' if loop.first else ',') + key + ':{' + schema(p) + '}' -}}\n"
        "    {%- endfor -%}\n"
        "    {{- '},' -}}\n"
        "  {%- endif -%}\n"
        "  {{- 'required:' + value(s.required) + ',' if s.required -}}\n"
        "  {{- 'type:' + value(type) if type -}}\n"
        "{%- endmacro -%}\n"
        "{%- macro spoken(text) -%}\n"
        "  {%- for piece in text.split('<channel|>') -%}\n"
        "    {{- piece.split('<|channel>')[0] -}}\n"
        "  {%- endfor -%}\n"
        "{%- endmacro -%}\n"
        "{%- macro words(content) -%}\n"
        "  {{- content | trim if content is string -}}\n"
        "  {%- for part in content or [] if content is not string -%}\n"
        "    {{- '<|image|>' if part.type == 'image' else part.text | trim -}}\n"
        "  {%- endfor -%}\n"
        "{%- endmacro -%}\n"
        "{%- macro results(from) -%}\n"
        "  {%- set ns = namespace(on=true) -%}\n"
        "  {%- for m in messages[from:] -%}\n"
        "    {%- if m.role != 'tool' -%}\n"
        "      {%- set ns.on = false -%}\n"
        "    {%- elif ns.on -%}\n"
        "      {%- set ns.name = m.name or 'unknown' -%}\n"
        "      {%- for call in messages[from - 1].tool_calls or [] -%}\n"
        "        {%- if m.tool_call_id and call.id == m.tool_call_id -%}\n"
        "          {%- set ns.name = (call.function or call).name -%}\n"
        "        {%- endif -%}\n"
        "      {%- endfor -%}\n"
        "      {{- '<|tool_response>response:' + ns.name + '{' -}}\n"
        "      {{- members(m.content) if m.content is mapping else 'value:' + "
        "value(m.content if m.content is string else words(m.content)) -}}\n"
        "      {{- '}<tool_response|>' -}}\n"
        "    {%- endif -%}\n"
        "  {%- endfor -%}\n"
        "{%- endmacro -%}\n";

static const char gemma4[] =
        "{%- set ns = namespace(query=-1, turn='', calls=false) -%}\n"
        "{%- set given = messages[0].role in ['system', 'developer'] -%}\n"
        "{{- bos_token -}}\n"
        "{%- if enable_thinking or tools or given -%}\n"
        "  {{- '<|turn>system\\n' + ('<|think|>\\n' if enable_thinking else '') -}}\n"
        "  {{- words(messages[0].content) if given -}}\n"
        "  {%- for tool in tools or [] -%}\n"
        "    {%- set f = tool.function -%}\n"
        "    {{- '<|tool>declaration:' + f.name + '{description:' + value(f.description or "
        "'') -}}\n"
        "    {{- ',parameters:{' + schema(f.parameters) + '}' if f.parameters -}}\n"
        "    {{- '}<tool|>' -}}\n"
        "  {%- endfor -%}\n"
        "  {{- '<turn|>\\n' -}}\n"
        "{%- endif -%}\n"
        "{%- for m in messages -%}\n"
        "  {%- if m.role == 'user' -%}\n"
        "    {%- set ns.query = loop.index0 -%}\n"
        "  {%- endif -%}\n"
        "{%- endfor -%}\n"
        "{%- for m in messages -%}\n"
        "  {%- if m.role != 'tool' and not (loop.first and given) -%}\n"
        "    {%- set turn = 'model' if m.role == 'assistant' else m.role -%}\n"
        "    {%- if turn != 'model' or ns.turn != 'model' -%}\n"
        "      {{- ('<turn|>\\n' if ns.turn else '') + '<|turn>' + turn + '\\n' -}}\n"
        "    {%- endif -%}\n"
        "    {%- set ns.turn = turn -%}\n"
        "    {%- set thoughts = m.reasoning_content or m.reasoning -%}\n"
        "    {{- '<|channel>thought\\n' + thoughts + '\\n<channel|>' if thoughts and "
        "loop.index0 > ns.query -}}\n"
        "    {%- for call in m.tool_calls or [] -%}\n"
        "      {%- set f = call.function or call -%}\n"
        "      {{- '<|tool_call>call:' + f.name + '{' + members(f.arguments) + "
        "'}<tool_call|>' -}}\n"
        "    {%- endfor -%}\n"
        "    {%- set after = results(loop.index) -%}\n"
        "    {{- after -}}\n"
        "    {%- set text = words(m.content) -%}\n"
        "    {%- set text = spoken(text) | trim if turn == 'model' else text -%}\n"
        "    {{- text -}}\n"
        "    {{- '<|tool_response>' if m.tool_calls and not after and loop.last -}}\n"
        "    {%- set ns.calls = true if m.tool_calls and not text else false -%}\n"
        "  {%- endif -%}\n"
        "{%- endfor -%}\n"
        "{{- '<turn|>\\n' if ns.turn and not ns.calls -}}\n"
        "{%- if add_generation_prompt and not ns.calls -%}\n"
        "  {{- '<|turn>model\\n' -}}\n"
        "{%- elif add_generation_prompt and enable_thinking and messages[-1].role == 'tool' "
        "-%}\n"
        "  {{- '<|channel>thought\\n' -}}\n"
        "{%- endif -%}";

/* The description of tools in both templates of Qwen; begins and ends inside a string. */
#define QWEN_TOOLS \
    "# Tools\\n\\nYou may call one or more functions to assist with the user " \
    "query.\\n\\nYou are provided with function signatures within <tools></tools> XML " \
    "tags:\\n<tools>' -}}\n" \
    "  {%- for tool in tools -%}\n" \
    "    {{- '\\n' + (tool | tojson) -}}\n" \
    "  {%- endfor -%}\n" \
    "  {{- '\\n</tools>\\n\\nFor each function call, return a json object with function " \
    "name and arguments within <tool_call></tool_call> XML " \
    "tags:\\n<tool_call>\\n{\"name\": <function-name>, \"arguments\": " \
    "<args-json-object>}\\n</tool_call>"

static const char qwen3[] =
        "{%- set ns = namespace(query=-1) -%}\n"
        "{%- for m in messages -%}\n"
        "  {%- if m.role == 'user' and not (m.content.startswith('<tool_response>') and "
        "m.content.endswith('</tool_response>')) -%}\n"
        "    {%- set ns.query = loop.index0 -%}\n"
        "  {%- endif -%}\n"
        "{%- endfor -%}\n"
        "{%- if ns.query < 0 -%}\n"
        "  {%- set ns.query = messages | length - 1 -%}\n"
        "{%- endif -%}\n"
        "{%- if tools -%}\n"
        "  {{- '<|im_start|>system\\n' -}}\n"
        "  {{- messages[0].content + '\\n\\n' if messages[0].role == 'system' -}}\n"
        "  {{- '" QWEN_TOOLS "<|im_end|>\\n' -}}\n"
        "{%- endif -%}\n"
        "{%- for m in messages -%}\n"
        "  {%- if m.role == 'tool' -%}\n"
        "    {{- '<|im_start|>user' if loop.first or loop.previtem.role != 'tool' -}}\n"
        "    {{- '\\n<tool_response>\\n' + m.content + '\\n</tool_response>' -}}\n"
        "    {{- '<|im_end|>\\n' if loop.last or loop.nextitem.role != 'tool' -}}\n"
        "  {%- elif m.role == 'assistant' -%}\n"
        "    {%- set thoughts = m.reasoning_content or '' -%}\n"
        "    {%- set text = m.content -%}\n"
        "    {%- if m.reasoning_content is not string and '</think>' in text -%}\n"
        "      {%- set thoughts = text.split('</think>')[0].rstrip('\\n').split('<think>')[-1"
        "].lstrip('\\n') -%}\n"
        "      {%- set text = text.split('</think>')[-1].lstrip('\\n') -%}\n"
        "    {%- endif -%}\n"
        "    {{- '<|im_start|>assistant\\n' -}}\n"
        "    {%- if loop.index0 > ns.query and (loop.last or thoughts) -%}\n"
        "      {{- '<think>\\n' + thoughts.strip('\\n') + '\\n</think>\\n\\n' + "
        "text.lstrip('\\n') -}}\n"
        "    {%- else -%}\n"
        "      {{- text -}}\n"
        "    {%- endif -%}\n"
        "    {%- for call in m.tool_calls or [] -%}\n"
        "      {%- set f = call.function or call -%}\n"
        "      {{- '\\n' if text or not loop.first -}}\n"
        "      {{- '<tool_call>\\n{\"name\": \"' + f.name + '\", \"arguments\": ' + "
        "(f.arguments if f.arguments is string else f.arguments | tojson) + "
        "'}\\n</tool_call>' -}}\n"
        "    {%- endfor -%}\n"
        "    {{- '<|im_end|>\\n' -}}\n"
        "  {%- elif not (tools and loop.first and m.role == 'system') -%}\n"
        "    {{- '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' -}}\n"
        "  {%- endif -%}\n"
        "{%- endfor -%}\n"
        "{%- if add_generation_prompt -%}\n"
        "  {{- '<|im_start|>assistant\\n' -}}\n"
        "  {{- '<think>\\n\\n</think>\\n\\n' if enable_thinking is defined and "
        "enable_thinking is false -}}\n"
        "{%- endif -%}";

static const char qwen2[] =
        "{%- set first = messages[0] -%}\n"
        "{%- set system = first.content if first.role == 'system' else 'You are Qwen, "
        "created by Alibaba Cloud. You are a helpful assistant.' -%}\n"
        "{{- '<|im_start|>system\\n' + system -}}\n"
        "{%- if tools -%}\n"
        "  {{- '\\n\\n" QWEN_TOOLS "' -}}\n"
        "{%- endif -%}\n"
        "{{- '<|im_end|>\\n' -}}\n"
        "{%- for m in messages -%}\n"
        "  {%- if m.role == 'tool' -%}\n"
        "    {{- '<|im_start|>user' if loop.first or loop.previtem.role != 'tool' -}}\n"
        "    {{- '\\n<tool_response>\\n' + m.content + '\\n</tool_response>' -}}\n"
        "    {{- '<|im_end|>\\n' if loop.last or loop.nextitem.role != 'tool' -}}\n"
        "  {%- elif m.role != 'system' or not loop.first -%}\n"
        "    {{- '<|im_start|>' + m.role -}}\n"
        "    {{- '\\n' + m.content if m.content or not m.tool_calls -}}\n"
        "    {%- for call in m.tool_calls or [] -%}\n"
        "      {%- set f = call.function or call -%}\n"
        "      {{- '\\n<tool_call>\\n{\"name\": \"' + f.name + '\", \"arguments\": ' + "
        "(f.arguments | tojson) + '}\\n</tool_call>' -}}\n"
        "    {%- endfor -%}\n"
        "    {{- '<|im_end|>\\n' -}}\n"
        "  {%- endif -%}\n"
        "{%- endfor -%}\n"
        "{%- if add_generation_prompt -%}\n"
        "  {{- '<|im_start|>assistant\\n' -}}\n"
        "{%- endif -%}";

static const char llama3[] =
        "{{- bos_token -}}\n"
        "{%- for m in messages -%}\n"
        "  {{- '<|start_header_id|>' + ('ipython' if m.role == 'tool' else m.role) + "
        "'<|end_header_id|>\\n\\n' -}}\n"
        "  {{- m.content | trim -}}\n"
        "  {%- for call in m.tool_calls or [] -%}\n"
        "    {%- set f = call.function or call -%}\n"
        "    {{- '{\"name\": \"' + f.name + '\", \"parameters\": ' + (f.arguments | tojson) "
        "+ '}' -}}\n"
        "  {%- endfor -%}\n"
        "  {{- '<|eot_id|>' -}}\n"
        "{%- endfor -%}\n"
        "{%- if add_generation_prompt -%}\n"
        "  {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' -}}\n"
        "{%- endif -%}";

static const vug_builtin_template formats[] = {
    { "gemma3", "<start_of_turn>", "<bos>", "", gemma },
    { "gemma2", "<start_of_turn>", "<bos>", "", gemma },
    { "gemma", "<start_of_turn>", "<bos>", "", gemma },
    { "gemma4", "<|turn>", "<bos>", gemma4_macros, gemma4 },
    { "qwen3", "<|im_start|>", "", "", qwen3 },
    { "qwen2", "<|im_start|>", "", "", qwen2 },
    { "llama3", "<|start_header_id|>", "<|begin_of_text|>", "", llama3 },
};
/* clang-format on */

enum { N_FORMATS = sizeof(formats) / sizeof(formats[0]) };

const vug_builtin_template *vug_builtin_template_find(const char *family)
{
    for (size_t i = 0; i < N_FORMATS; i++) {
        if (strcmp(formats[i].family, family) == 0)
            return &formats[i];
    }
    return NULL;
}

const vug_builtin_template *vug_builtin_template_at(size_t i)
{
    return i < N_FORMATS ? &formats[i] : NULL;
}
