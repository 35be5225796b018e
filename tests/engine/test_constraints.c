/* Answers with a grammar and a thinking budget: they match the grammar, are the model's choice
 * where there is one, and do not depend on forced tokens being computed together. */
#include "test.h"

#include <unistd.h>

#include "core/os.h"
#include "engine/scheduler_state.h"
#include "engine_help.h"
#include "scratch.h"
#include "started_steps.h"
#include "vug/chat.h"
#include "vug/grammar.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

typedef struct {
    vug_model *model;
    vug_session *session;
    const vug_tokenizer *tokenizer;
} constraints_fixture;

static constraints_fixture open_pebble(void)
{
    constraints_fixture f = {
        .model = help_model("models/pebble", (vug_model_options){ .threads = 1, .context = 400 })
    };
    f.session = help_session(f.model);
    f.tokenizer = vug_model_tokenizer(f.model, NULL);
    assert_non_null(f.tokenizer);
    return f;
}

static void close_pebble(constraints_fixture *f)
{
    vug_session_destroy(f->session);
    vug_model_close(f->model);
}

static vug_grammar *grammar_of(const constraints_fixture *f, vug_grammar_kind kind,
                               const char *text)
{
    vug_grammar *g;
    vug_err err = { 0 };
    help_ok(vug_grammar_create(kind, text, strlen(text), f->tokenizer, &g, &err), &err);
    return g;
}

static const vug_message question = { "user", "Tell me of a fox, in JSON." };

static vug_generation answer(const constraints_fixture *f, vug_generate_options how, uint64_t seed)
{
    static const vug_sampler_config warm = { VUG_SAMPLER_TEMPERATURE, 1.5f, 0 };
    vug_generation g = { 0 };
    vug_err err = { 0 };
    how.sampling = (vug_sampling){ .sampler = &warm, .n = 1, .seed = seed };
    help_ok(vug_generate_chat(f->session, &question, 1, &how, &g, &err), &err);
    return g;
}

/* The tokens match the grammar, and are a complete text if the answer ended by itself. */
static void assert_accepted(const vug_grammar *grammar, const vug_generation *g)
{
    vug_grammar_state *s;
    vug_err err = { 0 };
    help_ok(vug_grammar_state_create(grammar, &s, &err), &err);
    for (size_t i = 0; i < g->tokens.n; i++)
        help_ok(vug_grammar_accept(s, g->tokens.id[i], &err), &err);
    if (g->finish == VUG_FINISH_STOP)
        assert_true(vug_grammar_may_end(s));
    vug_grammar_state_destroy(s);
}

static const struct {
    vug_grammar_kind kind;
    const char *text;
} grammars[] = {
    { VUG_GRAMMAR_JSON, "" },
    { VUG_GRAMMAR_SCHEMA,
      "{\"type\":\"object\",\"properties\":{\"animal\":{\"const\":\"the quick brown fox\"},"
      "\"legs\":{\"type\":\"integer\",\"minimum\":2,\"maximum\":8},"
      "\"names\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"maxLength\":9},"
      "\"maxItems\":3}},\"required\":[\"animal\",\"legs\",\"names\"],"
      "\"additionalProperties\":false}" },
    { VUG_GRAMMAR_REGEX, "(red|brown|grey) foxes have [1-9] (legs|tails)\\." },
    { VUG_GRAMMAR_GBNF, "root ::= \"(\" root \")\" | \"fox\"" },
};

static void test_answers_match_the_grammar(void **state)
{
    (void)state;
    constraints_fixture f = open_pebble();
    for (size_t i = 0; i < COUNT(grammars); i++) {
        vug_grammar *grammar = grammar_of(&f, grammars[i].kind, grammars[i].text);
        size_t stopped = 0;
        for (uint64_t seed = 0; seed < 6; seed++) {
            vug_generation g = answer(
                    &f, (vug_generate_options){ .grammar = grammar, .max_tokens = 150 }, seed);
            assert_accepted(grammar, &g);
            stopped += g.finish == VUG_FINISH_STOP;
            vug_generation_release(&g);
        }
        assert_true(stopped > 0);
        vug_grammar_destroy(grammar);
    }
    close_pebble(&f);
}

/* With log-probabilities every token has a step of its own. */
static void test_forced_tokens_do_not_change_the_answer(void **state)
{
    (void)state;
    constraints_fixture f = open_pebble();
    vug_grammar *grammar = grammar_of(&f, grammars[1].kind, grammars[1].text);
    for (uint64_t seed = 0; seed < 6; seed++) {
        const int most = 4 + 17 * (int)seed; /* some answers end within forced tokens */
        vug_generate_options how = { .grammar = grammar, .max_tokens = most };
        vug_generation together = answer(&f, how, seed);
        how.logprobs = true;
        vug_generation single = answer(&f, how, seed);
        assert_int_equal(together.tokens.n, single.tokens.n);
        assert_memory_equal(together.tokens.id, single.tokens.id,
                            single.tokens.n * sizeof(*single.tokens.id));
        assert_int_equal(together.finish, single.finish);
        assert_string_equal(together.text.ptr, single.text.ptr);
        vug_generation_release(&together);
        vug_generation_release(&single);
    }
    vug_grammar_destroy(grammar);
    close_pebble(&f);
}

/* A grammar that the model follows by itself does not change the answer. */
static void test_permissive_grammar_does_not_change_the_answer(void **state)
{
    (void)state;
    constraints_fixture f = open_pebble();
    vug_grammar *grammar = grammar_of(&f, VUG_GRAMMAR_REGEX, "[\\s\\S]*");
    for (uint64_t seed = 0; seed < 4; seed++) {
        vug_generation free = answer(&f, (vug_generate_options){ .max_tokens = 60 }, seed);
        vug_generation held =
                answer(&f, (vug_generate_options){ .grammar = grammar, .max_tokens = 60 }, seed);
        bool special = false; /* a grammar forbids these tokens, after which answers differ */
        for (size_t i = 0; i < free.tokens.n; i++)
            special = special || free.tokens.id[i] < 12;
        if (!special)
            assert_string_equal(free.text.ptr, held.text.ptr);
        vug_generation_release(&free);
        vug_generation_release(&held);
    }
    vug_grammar_destroy(grammar);
    close_pebble(&f);
}

/* ---- devices that draw ---------------------------------------------------------------------- */

static void test_devices_draw_what_a_grammar_allows(void **state)
{
    (void)state;
    constraints_fixture f = open_pebble();
    for (size_t i = 0; i < COUNT(grammars); i++) {
        vug_grammar *grammar = grammar_of(&f, grammars[i].kind, grammars[i].text);
        for (uint64_t seed = 0; seed < 4; seed++) {
            const vug_generate_options how = { .grammar = grammar,
                                               .max_tokens = 60,
                                               .speculation = VUG_SPECULATION_OFF };
            help_run_steps(f.model);
            vug_generation host = answer(&f, how, seed);
            help_start_steps(f.model);
            vug_generation device = answer(&f, how, seed);
            assert_int_equal(host.tokens.n, device.tokens.n);
            assert_memory_equal(host.tokens.id, device.tokens.id,
                                host.tokens.n * sizeof(*host.tokens.id));
            assert_true(f.session->logits[0].n_known > 0); /* of the last token that was drawn */
            vug_generation_release(&host);
            vug_generation_release(&device);
        }
        vug_grammar_destroy(grammar);
    }
    help_run_steps(f.model);
    close_pebble(&f);
}

/* ---- steps ------------------------------------------------------------------------------------ */

/* Forced tokens have no steps of their own, nor do the last tokens, which nothing follows. */
static void test_known_tokens_take_no_step_of_their_own(void **state)
{
    (void)state;
    constraints_fixture f = open_pebble();
    vug_grammar *grammar = grammar_of(&f, VUG_GRAMMAR_REGEX, "[12] quick brown foxes jump");
    const uint64_t before = f.model->scheduler->n_arrived;
    vug_generation g = answer(&f, (vug_generate_options){ .grammar = grammar }, 1);
    assert_int_equal(f.model->scheduler->n_arrived - before, 1); /* that of the prompt */
    assert_int_equal(g.finish, VUG_FINISH_STOP);
    assert_accepted(grammar, &g);
    vug_generation_release(&g);
    vug_grammar_destroy(grammar);
    close_pebble(&f);
}

/* ---- thinking --------------------------------------------------------------------------- */

typedef struct {
    vug_buf thinking, content;
} parsed_parts;

static bool hear(const vug_part *part, void *user)
{
    parsed_parts *h = user;
    vug_buf_append(part->kind == VUG_PART_THINKING ? &h->thinking : &h->content, part->text,
                   part->len);
    return true;
}

static const char thinker[] = "{{ bos_token }}{% for m in messages %}<start_of_turn>user\n"
                              "{{ m.content }}<end_of_turn>\n{% endfor %}"
                              "<start_of_turn>model\n<think>\n";

static void think(const constraints_fixture *f, const char *user_message, vug_generate_options how,
                  parsed_parts *h, vug_generation *g)
{
    vug_chat *chat;
    vug_err err = { 0 };
    help_ok(vug_chat_parse(thinker, sizeof(thinker) - 1, "t", &chat, &err), &err);
    char messages[128];
    (void)snprintf(messages, sizeof(messages), "[{\"role\":\"user\",\"content\":\"%s\"}]",
                   user_message);
    const vug_conversation c = { .messages = messages, .messages_len = strlen(messages) };
    vug_prompt prompt;
    help_ok(vug_chat_render(chat, &c, &prompt, &err), &err);
    vug_response_parser *reply;
    const vug_response_parser_options o = {
        .chat = chat, .tokenizer = f->tokenizer, .prompt = &prompt, .on_part = hear, .user = h
    };
    help_ok(vug_response_parser_create(&o, &reply, &err), &err);
    vug_tokens id;
    help_ok(vug_prompt_encode(f->tokenizer, &prompt, &id, &err), &err);
    const vug_sampler_config greedy = { VUG_SAMPLER_TEMPERATURE, 0, 0 };
    how.max_tokens = 80;
    how.sampling = (vug_sampling){ .sampler = &greedy, .n = 1 };
    how.parser = reply;
    help_ok(vug_generate(f->session, id.id, id.n, &how, g, &err), &err);
    help_ok(vug_response_parser_finish(reply, &err), &err);
    vug_response_parser_destroy(reply);
    vug_tokens_release(&id);
    vug_prompt_release(&prompt);
    vug_chat_close(chat);
}

static void test_thinking_is_closed_at_its_budget(void **state)
{
    (void)state;
    constraints_fixture f = open_pebble();
    vug_grammar *grammar = grammar_of(&f, VUG_GRAMMAR_REGEX, "a (red|brown) fox");
    for (int budget = 1; budget < 9; budget += 3) {
        parsed_parts h = { 0 };
        vug_generation g = { 0 };
        const vug_generate_options how = { .grammar = grammar,
                                           .thinking_budget = budget,
                                           .ignore_stop = true };
        think(&f, "Tell me a story.", how, &h, &g);
        vug_tokens thought;
        vug_err err = { 0 };
        help_ok(vug_tokenizer_encode(f.tokenizer, h.thinking.ptr, h.thinking.len, 0, &thought,
                                     &err),
                &err);
        assert_int_equal(thought.n, budget);
        assert_true(strncmp(h.content.ptr, "a red fox", 9) == 0 ||
                    strncmp(h.content.ptr, "a brown fox", 11) == 0);
        assert_non_null(strstr(g.text.ptr, "\n</think>\n\na "));
        vug_tokens_release(&thought);
        vug_generation_release(&g);
        vug_buf_release(&h.thinking);
        vug_buf_release(&h.content);
    }
    vug_grammar_destroy(grammar);
    close_pebble(&f);
}

/* A stop token during thinking closes the thinking, unless the grammar allows an empty text. */
static void test_stop_token_ends_the_thinking(void **state)
{
    (void)state;
    constraints_fixture f = open_pebble();
    for (int may_be_empty = 0; may_be_empty < 2; may_be_empty++) {
        vug_grammar *grammar = grammar_of(
                &f, VUG_GRAMMAR_REGEX, may_be_empty ? "(a (red|brown) fox)?" : "a (red|brown) fox");
        parsed_parts h = { 0 };
        vug_generation g = { 0 };
        think(&f, "What is 12 + 30?", (vug_generate_options){ .grammar = grammar }, &h, &g);
        assert_int_equal(g.finish, VUG_FINISH_STOP);
        assert_true(h.thinking.len > 0);
        assert_null(strstr(h.thinking.ptr, "</think>"));
        if (may_be_empty)
            assert_int_equal(h.content.len, 0);
        else
            assert_true(h.content.len > 0 && (strncmp(h.content.ptr, "a red fox", 9) == 0 ||
                                              strncmp(h.content.ptr, "a brown fox", 11) == 0));
        vug_generation_release(&g);
        vug_buf_release(&h.thinking);
        vug_buf_release(&h.content);
        vug_grammar_destroy(grammar);
    }
    close_pebble(&f);
}

/* The caller's stop tokens, here those that close the thinking, end the answer. */
static void test_stop_tokens_of_the_caller_end_thinking_answers(void **state)
{
    (void)state;
    constraints_fixture f = open_pebble();
    vug_grammar *grammar = grammar_of(&f, VUG_GRAMMAR_REGEX, "a (red|brown) fox");
    vug_tokens closing;
    vug_err err = { 0 };
    help_ok(vug_tokenizer_encode(f.tokenizer, "\n</think>", 9, VUG_ENCODE_PARSE_SPECIAL, &closing,
                                 &err),
            &err);
    for (size_t i = 0; i < closing.n; i++) {
        parsed_parts h = { 0 };
        vug_generation g = { 0 };
        const vug_generate_options how = { .grammar = grammar,
                                           .thinking_budget = 4,
                                           .ignore_stop = true,
                                           .stop = &closing.id[i],
                                           .n_stop = 1 };
        think(&f, "Tell me a story.", how, &h, &g);
        assert_int_equal(g.finish, VUG_FINISH_STOP);
        assert_int_equal(g.tokens.n, 4 + i);
        assert_int_equal(h.content.len, 0);
        vug_generation_release(&g);
        vug_buf_release(&h.thinking);
        vug_buf_release(&h.content);
    }
    vug_tokens_release(&closing);
    vug_grammar_destroy(grammar);
    close_pebble(&f);
}

static void test_bad_budgets_are_refused(void **state)
{
    (void)state;
    constraints_fixture f = open_pebble();
    static const int budgets[] = { -1, 5 };
    for (size_t i = 0; i < COUNT(budgets); i++) {
        vug_generation g;
        vug_err err = { 0 };
        const vug_generate_options how = { .thinking_budget = budgets[i] };
        assert_int_equal(vug_generate_chat(f.session, &question, 1, &how, &g, &err), VUG_ARGUMENT);
        assert_non_null(strstr(err.msg, "thinking_budget"));
    }
    close_pebble(&f);
}

/* Pebble with a tokenizer that has one token more than the model. */
static vug_model *with_foreign_token(const scratch *dir, const char *content)
{
    static const char *const same[] = { "config.json", "generation_config.json",
                                        "model.safetensors", "tokenizer_config.json" };
    static const char list[] = "\"added_tokens\":[";
    for (size_t i = 0; i < COUNT(same); i++) {
        char from[400], folder[300];
        assert_non_null(getcwd(folder, sizeof(folder)));
        (void)snprintf(from, sizeof(from), "%s/models/pebble/%s", folder, same[i]);
        assert_int_equal(symlink(from, scratch_at(dir, same[i]).path), 0);
    }
    vug_text json;
    vug_buf changed = { 0 };
    assert_int_equal(vug_read_file("models/pebble/tokenizer.json", 1 << 20, &json, NULL), VUG_OK);
    const char *at = strstr(json.ptr, list);
    assert_non_null(at);
    at += sizeof(list) - 1;
    vug_buf_append(&changed, json.ptr, (size_t)(at - json.ptr));
    vug_buf_printf(&changed, "{\"id\":5000,\"content\":\"%s\",\"normalized\":false},", content);
    vug_buf_puts(&changed, at);
    scratch_write(dir, "tokenizer.json", changed.ptr, changed.len);
    vug_text_release(&json);
    vug_buf_release(&changed);
    return help_model(dir->path, (vug_model_options){ .threads = 1, .context = 400 });
}

/* Such a token is neither forced nor sampled, even if the tokenizer would encode it. */
static void test_tokens_without_logits_are_never_generated(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    constraints_fixture f = { .model = with_foreign_token(&dir, " quick brown") };
    f.session = help_session(f.model);
    f.tokenizer = vug_model_tokenizer(f.model, NULL);
    assert_int_equal(vug_tokenizer_find(f.tokenizer, " quick brown"), 5000);
    vug_grammar *grammar = grammar_of(&f, VUG_GRAMMAR_REGEX, "the quick brown fox");
    vug_generation g = answer(&f, (vug_generate_options){ .grammar = grammar }, 1);
    assert_string_equal(g.text.ptr, "the quick brown fox");
    vug_generation_release(&g);
    vug_grammar_destroy(grammar);
    close_pebble(&f);
    scratch_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers_match_the_grammar),
        cmocka_unit_test(test_forced_tokens_do_not_change_the_answer),
        cmocka_unit_test(test_permissive_grammar_does_not_change_the_answer),
        cmocka_unit_test(test_devices_draw_what_a_grammar_allows),
        cmocka_unit_test(test_known_tokens_take_no_step_of_their_own),
        cmocka_unit_test(test_thinking_is_closed_at_its_budget),
        cmocka_unit_test(test_stop_token_ends_the_thinking),
        cmocka_unit_test(test_stop_tokens_of_the_caller_end_thinking_answers),
        cmocka_unit_test(test_bad_budgets_are_refused),
        cmocka_unit_test(test_tokens_without_logits_are_never_generated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
