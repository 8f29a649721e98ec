/* What a sentence says of where: component and entry, each of them once. */
#include "ground.h"
#include "lib/call.h"

CASE(about, a_refusal_names_component_and_entry_once)
{
    static const struct {
        uint32_t component;
        const char *path;
        const char *text;
        const char *says;
    } cases[] = {
        { COMPONENT_MODEL, "w", "unknown dtype 9", "model 'w': unknown dtype 9" },
        { COMPONENT_MODEL,
          "",
          "of no parameter of the model",
          "model: of no parameter of the model" },
        { COMPONENT_MODEL, "w", "'ww' is new", "model 'w': 'ww' is new" },
        { COMPONENT_MODEL, "w", "entry 'w' is damaged", "model: entry 'w' is damaged" },
        { COMPONENT_MODEL, "", "component model: bad", "component model: bad" },
        { COMPONENT_MODEL, "w", "component models: bad", "model 'w': component models: bad" },
        { COMPONENT_MODEL, "", "chunk 3 (model) is bad", "chunk 3 (model) is bad" },
        { COMPONENT_GRADIENTS,
          "w",
          "entries of gradients are out of order",
          "entry 'w': entries of gradients are out of order" },
        { COMPONENT_GRADIENTS,
          "w",
          "gradients: 'w' is there twice",
          "gradients: 'w' is there twice" },
        { COMPONENT_NONE, "", "no such run", "no such run" },
        { COMPONENT_NONE, "w", "no such entry", "entry 'w': no such entry" },
        { 77, "", "no such thing", "no such thing" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err = { 0 };
        struct wire_error e = { .code = CAIRN_EINVAL,
                                .component = cases[i].component,
                                .path = slice_str(cases[i].path),
                                .text = slice_str(cases[i].text) };
        cl_refusal(&e, &err);
        cr_assert_eq(err.code, -CAIRN_EINVAL);
        cr_assert_eq(err.component, cases[i].component);
        cr_assert_str_eq(err.msg, cases[i].says);
    }
}

CASE(about, a_long_path_leaves_room_for_the_sentence)
{
    char path[3000];
    struct err err = { 0 };
    memset(path, 'p', sizeof path);
    struct wire_error e = { .code = CAIRN_EINVAL,
                            .component = COMPONENT_STATE,
                            .path = slice_of(path, sizeof path),
                            .text = slice_str("what is wrong") };
    cl_refusal(&e, &err);
    cr_assert_eq(strncmp(err.msg, "state 'ppp", 10), 0);
    cr_assert_not_null(strstr(err.msg, "': what is wrong"));
}
