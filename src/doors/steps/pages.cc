// SPDX-License-Identifier: Apache-2.0
#include "doors/steps/pages.h"

#include <array>
#include <string>
#include <utility>

#include "doors/http/api_pages.h"
#include "doors/http/assets.h"

namespace cloche::steps {
namespace {

constexpr std::string_view skill = R"page(# Cloche steps: a computer of your own, over HTTP

You have a server that gives you private sandboxes. A **session** is one sandbox: a Linux-like machine with
bash, the usual tools, Python and a file system of its own. Nobody else is in it. Everything is JSON.

## The three calls

1. Make a session. Keep its id.

       curl -s -X POST http://127.0.0.1:8000/sessions
       {"session_id":"2f0c..."}

2. Run steps in it. `sandbox_id` is the session's id again.

       curl -s -X POST http://127.0.0.1:8000/sessions/$ID/step \
         -H 'Content-Type: application/json' \
         -d '{"sandbox_id":"'$ID'","type":"bash","payload":{"cmd":"echo hello > a.txt; ls"}}'
       {"output":"a.txt\n","error":"","exit_code":0}

       ... -d '{"sandbox_id":"'$ID'","type":"python","payload":{"code":"print(open(\"a.txt\").read())"}}'
       {"output":"hello\n\n","error":"","exit_code":0}

3. Delete the session when you are done. Its files are gone then.

       curl -s -X DELETE http://127.0.0.1:8000/sessions/$ID        -> 204

## What a step is

- `bash` runs `bash -c CMD`; `python` runs `python3 -c CODE`. Each is a fresh process in `/workspace`.
- **Lasts** from step to step: files, and what you installed.
- **Does not last**: variables, `cd`, functions, imports. Put what belongs together into one step, or
  into a file.
- There is no input: a program that reads standard input sees its end at once.
- Several steps of one session may run at the same time; they share the files.

## Answers

- `output` is standard output, `error` standard error, both as text; bytes that are not UTF-8 become the
  replacement character.
- `exit_code` 0: success. 1 to 255: the program's own. **Negative: ended by that signal** (-9: killed).
- **124**, with `error` "execution timed out after N seconds": the step took too long and was killed with
  all it had started; `output` has what came before. Split the work, or start it with `&` and look later.
- HTTP 404: there is no such session (any more). HTTP 422: the request is malformed; `detail` says where.
  A step that fails is still HTTP 200: look at `exit_code`.

## Limits

A step: 30 seconds unless the server was started with SBS_STEP_TIMEOUT_SEC. A session: 256 MiB of files,
1 GiB of memory, 64 processes, no network. Paths outside of `/workspace` and `/tmp` are read-only.

## Python

CPython 3 with numpy, pandas, scipy, scikit-learn, matplotlib, Pillow and lxml where the server has them. Print
what you want to see; save figures to files.

The API as a machine reads it: `/openapi.json`; for a person: `/docs`.
)page";

constexpr std::string_view openapi =
    R"json({"openapi":"3.1.0","info":{"title":"Cloche steps","version":"1.0.0","summary":"Private sandboxes for agents: sessions whose steps are fresh bash or Python processes.","description":"A session has one sandbox. Files last from step to step; processes do not. How to use it from an agent: [/skill.md](/skill.md)."},)json"
    R"json("paths":{"/sessions":{"post":{"tags":["sessions"],"summary":"Create Session","description":"Makes a session with a fresh sandbox. Any body is ignored.","operationId":"create_session_sessions_post","responses":{"200":{"description":"Successful Response","content":{"application/json":{"schema":{"$ref":"#/components/schemas/CreateSessionResponse"}}}},"503":{"description":"The server has as many sessions as it may have","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Problem"}}}}}}},)json"
    R"json("/sessions/{session_id}/step":{"post":{"tags":["sessions"],"summary":"Run Step","description":"Runs one fresh process in the session's sandbox and waits for its end.","operationId":"run_step_sessions__session_id__step_post","parameters":[{"name":"session_id","in":"path","required":true,"schema":{"type":"string","title":"Session Id"}}],"requestBody":{"required":true,"content":{"application/json":{"schema":{"oneOf":[{"$ref":"#/components/schemas/BashStepBody"},{"$ref":"#/components/schemas/PythonStepBody"}],"discriminator":{"propertyName":"type","mapping":{"bash":"#/components/schemas/BashStepBody","python":"#/components/schemas/PythonStepBody"}},"title":"Body"},"example":{"sandbox_id":"the session's id","type":"bash","payload":{"cmd":"echo hello"}}}}},"responses":{"200":{"description":"The process has ended: by itself, by a signal, or at its time limit","content":{"application/json":{"schema":{"$ref":"#/components/schemas/StepResult"}}}},"404":{"description":"There is no such session","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Problem"}}}},"422":{"description":"Validation Error","content":{"application/json":{"schema":{"$ref":"#/components/schemas/HTTPValidationError"}}}}}}},)json"
    R"json("/sessions/{session_id}":{"delete":{"tags":["sessions"],"summary":"Delete Session","description":"Kills what runs in the session and forgets its files.","operationId":"delete_session_sessions__session_id__delete","parameters":[{"name":"session_id","in":"path","required":true,"schema":{"type":"string","title":"Session Id"}}],"responses":{"204":{"description":"Successful Response"},"404":{"description":"There is no such session","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Problem"}}}},"422":{"description":"Validation Error","content":{"application/json":{"schema":{"$ref":"#/components/schemas/HTTPValidationError"}}}}}}}},)json"
    R"json("components":{"schemas":{"BashPayload":{"properties":{"cmd":{"type":"string","title":"Cmd","description":"What bash -c is given; without NUL."}},"additionalProperties":false,"type":"object","required":["cmd"],"title":"BashPayload"},"BashStepBody":{"properties":{"sandbox_id":{"type":"string","minLength":1,"title":"Sandbox Id","description":"The id of the session, again."},"type":{"type":"string","const":"bash","title":"Type"},"payload":{"$ref":"#/components/schemas/BashPayload"}},"additionalProperties":false,"type":"object","required":["sandbox_id","type","payload"],"title":"BashStepBody"},)json"
    R"json("PythonPayload":{"properties":{"code":{"type":"string","title":"Code","description":"What python3 -c is given; without NUL."}},"additionalProperties":false,"type":"object","required":["code"],"title":"PythonPayload"},"PythonStepBody":{"properties":{"sandbox_id":{"type":"string","minLength":1,"title":"Sandbox Id","description":"The id of the session, again."},"type":{"type":"string","const":"python","title":"Type"},"payload":{"$ref":"#/components/schemas/PythonPayload"}},"additionalProperties":false,"type":"object","required":["sandbox_id","type","payload"],"title":"PythonStepBody"},)json"
    R"json("CreateSessionResponse":{"properties":{"session_id":{"type":"string","format":"uuid","title":"Session Id"}},"additionalProperties":false,"type":"object","required":["session_id"],"title":"CreateSessionResponse"},"StepResult":{"properties":{"output":{"type":"string","title":"Output"},"error":{"type":"string","title":"Error"},"exit_code":{"type":"integer","title":"Exit Code","description":"Negative: the signal that ended it. 124: the time limit."}},"type":"object","required":["output","error","exit_code"],"title":"StepResult"},"Problem":{"properties":{"detail":{"type":"string","title":"Detail"}},"type":"object","required":["detail"],"title":"Problem"},)json"
    R"json("HTTPValidationError":{"properties":{"detail":{"items":{"$ref":"#/components/schemas/ValidationError"},"type":"array","title":"Detail"}},"type":"object","title":"HTTPValidationError"},"ValidationError":{"properties":{"loc":{"items":{"anyOf":[{"type":"string"},{"type":"integer"}]},"type":"array","title":"Location"},"msg":{"type":"string","title":"Message"},"type":{"type":"string","title":"Error Type"},"input":{"title":"Input"},"ctx":{"type":"object","title":"Context"}},"type":"object","required":["loc","msg","type"],"title":"ValidationError"}}}})json";

}  // namespace

std::string_view skill_page() { return skill; }
std::string_view openapi_document() { return openapi; }

std::optional<Page> find_page(std::string_view path) {
  static constexpr std::string_view html = "text/html; charset=utf-8";
  static const std::string docs_html = http::swagger_page("Cloche steps", "/openapi.json");
  static const std::string redoc_html = http::redoc_page("Cloche steps", "/openapi.json");
  const std::array<std::pair<std::string_view, Page>, 5> pages{{
      {"/docs", {html, docs_html}},
      {"/redoc", {html, redoc_html}},
      {"/openapi.json", {"application/json", openapi}},
      {"/skill.md", {"text/markdown; charset=utf-8", skill}},
      {"/llms.txt", {"text/plain; charset=utf-8", skill}},
  }};
  for (const auto& [name, page] : pages) {
    if (name == path) return page;
  }
  if (const http::Asset* asset = http::find_asset(path)) return Page{asset->type, asset->content};
  return std::nullopt;
}

}  // namespace cloche::steps
