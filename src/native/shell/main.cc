// SPDX-License-Identifier: Apache-2.0
// cloche-shell: a builtin that makes the bash which loads it a shell that stays. It takes scripts
// from Cloche (shell_wire.h), runs each as `bash -c` would, with descriptors 0, 1 and 2 of its own,
// and tells its status. What would end the shell ends the script alone: exit, set -e, errors of
// syntax and of expansion. Between two turns no function of bash is in progress, so that all of the
// shell is its memory, which it writes as an image when it is asked to.
//
// It stands in the place of the loop that reads commands: nothing of it is shell code, which a
// script could redefine. It runs as the guest, and what a script does to it in memory it does to its
// own shell.
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "native/freeze/freezer.h"
#include "native/shell/bash.h"
#include "native/shell/control.h"

namespace cloche::shell {
namespace {

constexpr int resources = 16;
constexpr int exit_trap = 0;
constexpr int status_of_end = 127;
constexpr std::size_t most_path = 4096;

// A variable of this turn alone, and what it hides.
struct Hidden {
  Hidden* next;
  char* name;
  bash::Entry* entry;
};

// What an image has beside memory.
struct Kept {
  Limit limits[resources];
  long mask;
  char folder[most_path];
};

// Of a turn in progress. All of this outlives jumps.
struct Turn {
  char* at;  // in the frame
  char* script;
  char* before;  // the folder, where this turn has another one
  char* name;    // $0 of the shell
  Hidden* hidden;
  int arguments;
  int status_of_script;
  bool has_ended;  // what would have ended the shell
};

Control control;
Control::Message message;
Kept kept;
Turn turn;
char end_of_process[bash::jump_bytes];
char between_scripts[bash::jump_bytes];  // where what jumps then leads
int own_pid = 0;
int nowhere = -1;
bool is_running = false;  // end_of_process can be jumped to
bool has_begun = false;   // there has been a turn

char* copy_of(const char* text) {
  std::size_t bytes = 1;
  while (text[bytes - 1] != '\0') ++bytes;
  char* const made = static_cast<char*>(xmalloc(bytes));
  memcpy(made, text, bytes);
  return made;
}

// The versions whose structures are as bash.h has them.
bool is_known_bash() {
  return &dist_version != nullptr && dist_version[0] == '5' && dist_version[1] == '.' &&
         dist_version[2] == '2' && dist_version[3] == '\0';
}

struct Name {
  template <typename What>
  Name(What* what) : at(static_cast<const void*>(what)) {}
  const void* at;
};

bool has_all_names() {
  const Name names[] = {&top_level,
                        &last_command_exit_value,
                        &subshell_environment,
                        &read_but_dont_execute,
                        &EOF_Reached,
                        &array_needs_making,
                        &sourcelevel,
                        &evalnest,
                        &sourcenest,
                        &subshell_level,
                        &executing,
                        &executing_builtin,
                        &stdin_redir,
                        &last_made_pid,
                        &last_asynchronous_pid,
                        &dollar_dollar_pid,
                        &shell_pgrp,
                        &original_pgrp,
                        &pipeline_pgrp,
                        &startup_state,
                        &dollar_vars,
                        &this_command_name,
                        &command_execution_string,
                        &trap_list,
                        &temporary_env,
                        &global_variables,
                        &stdin,
                        &stdout,
                        &stderr,
                        &__rseq_size,
                        &__rseq_offset};
  for (const Name& name : names) {
    if (name.at == nullptr) return false;
  }
  return parse_and_execute && top_level_cleanup && reset_local_contexts && dispose_used_env_vars &&
         reset_parser && restore_sigmask && zreset && legal_identifier && bind_global_variable &&
         unbind_variable && dispose_variable && stupidly_hack_special_variables && hash_remove &&
         hash_insert && get_working_directory && cd_builtin && make_word && make_word_list &&
         dispose_words && builtin_address_internal && push_dollar_vars && pop_dollar_vars &&
         remember_args && signal_is_trapped && restore_default_signal && initialize_signals &&
         delete_all_jobs && set_ppid && seedrand && seedrand32 && xmalloc && xfree && __sigsetjmp &&
         siglongjmp && on_exit && __register_atfork && fflush && clearerr && gnu_get_libc_version;
}

// --- What ends a script

// Called by exit(), in the shell and in its children.
void at_exit(int status, void*) {
  if (!is_running || subshell_environment != 0 || system_call(SYS_getpid) != own_pid) return;
  is_running = false;
  last_command_exit_value = status;
  on_exit(at_exit, nullptr);
  siglongjmp(end_of_process, 1);
}

void in_child() {
  is_running = false;
  control.close();
  system_call(SYS_close, nowhere);
}

// As after a command that was interrupted: nothing of the script is in progress any more.
void clean_up() {
  top_level_cleanup();
  reset_local_contexts();
  if (temporary_env != nullptr) dispose_used_env_vars();
  reset_parser();
  sourcelevel = evalnest = sourcenest = 0;
  subshell_level = 0;
  executing = executing_builtin = 0;
  stdin_redir = 0;
  this_command_name = nullptr;
  restore_sigmask();
  fflush(stdout);
  fflush(stderr);
  clearerr(stdin);
  clearerr(stdout);
  clearerr(stderr);
}

bool run_and_catch(char* text, const char* name, int flags) {
  if (__sigsetjmp(end_of_process, 0) != 0) {
    initialize_signals(1);
    return true;
  }
  is_running = true;
  const int code = __sigsetjmp(top_level, 0);
  if (code == 0) {
    parse_and_execute(text, name, flags | bash::no_history | bash::keep_text | bash::from_line_one);
    is_running = false;
    return false;
  }
  is_running = false;
  if (code == bash::end_of_file) last_command_exit_value = status_of_end;
  if (code != bash::discard) return true;
  if (last_command_exit_value == 0) last_command_exit_value = 1;
  return false;
}

// Runs it; true where the shell would have ended of it.
bool run_text(char* text, const char* name, int flags) {
  const bool has_ended = run_and_catch(text, name, flags);
  memcpy(top_level, between_scripts, sizeof between_scripts);
  return has_ended;
}

// Bash would run each such trap of a shell once.
void run_exit_trap() {
  if (signal_is_trapped(exit_trap) == 0) return;
  static char* text;
  text = copy_of(trap_list[exit_trap] == nullptr ? "" : trap_list[exit_trap]);
  restore_default_signal(exit_trap);
  turn.status_of_script = last_command_exit_value;
  const bool has_ended = run_text(text, "exit trap", bash::not_interactive);
  clean_up();
  if (!has_ended) last_command_exit_value = turn.status_of_script;
  xfree(text);
}

// --- What is of one turn

char* next_word() {
  char* const word = turn.at;
  while (*turn.at != '\0') ++turn.at;
  ++turn.at;
  return word;
}

int next_number() {
  int number = 0;
  for (const char* digit = next_word(); *digit >= '0' && *digit <= '9'; ++digit)
    number = number * 10 + (*digit - '0');
  return number;
}

// Ends the name there; null: there is no value.
char* value_of(char* assignment) {
  for (char* at = assignment; *at != '\0'; ++at) {
    if (*at != '=') continue;
    *at = '\0';
    return at + 1;
  }
  return nullptr;
}

void set_variable(char* name, char* value) {
  if (legal_identifier(name) == 0) return;
  bash::Variable* const variable = bind_global_variable(name, value, bash::force);
  if (variable == nullptr) return;
  variable->attributes |= bash::is_exported;
  array_needs_making = 1;
  stupidly_hack_special_variables(name);
}

// Without a value it is only hidden.
void hide(char* name, char* value) {
  if (legal_identifier(name) == 0) return;
  auto* const hidden = static_cast<Hidden*>(xmalloc(sizeof(Hidden)));
  *hidden = {turn.hidden, copy_of(name), hash_remove(name, global_variables->table, 0)};
  turn.hidden = hidden;
  if (value != nullptr) set_variable(name, value);
}

void show_hidden() {
  while (turn.hidden != nullptr) {
    Hidden* const one = turn.hidden;
    turn.hidden = one->next;
    if (bash::Entry* const now = hash_remove(one->name, global_variables->table, 0)) {
      dispose_variable(now->data);
      xfree(now->name);
      xfree(now);
    }
    if (one->entry != nullptr) {
      hash_insert(one->entry->name, global_variables->table, bash::known_to_be_new)->data =
          one->entry->data;
      xfree(one->entry);
    }
    array_needs_making = 1;
    stupidly_hack_special_variables(one->name);
    xfree(one->name);
    xfree(one);
  }
}

bool change_folder(const char* folder) {
  bash::Words* const words =
      make_word_list(make_word("--"), make_word_list(make_word(folder), nullptr));
  this_command_name = const_cast<char*>("cd");
  const bool is_there = cd_builtin(words) == 0;
  dispose_words(words);
  return is_there;
}

void set_arguments() {
  bash::Words *first = nullptr, *last = nullptr;
  for (int i = 0; i < turn.arguments; ++i) {
    char* const word = next_word();
    if (i == 0) {
      dollar_vars[0] = word;
      continue;
    }
    bash::Words* const one = make_word_list(make_word(word), nullptr);
    (last == nullptr ? first : last->next) = one;
    last = one;
  }
  remember_args(first, 1);
  dispose_words(first);
}

void skip_arguments() {
  for (int i = 0; i < turn.arguments; ++i) next_word();
}

// --- Turns

void lead_nowhere() {
  for (int fd = 0; fd < 3; ++fd) system_call(SYS_dup3, nowhere, fd, 0);
}

bool take_files(const Control::Files& files, int wanted) {
  if (files.count == wanted) {
    for (int fd = 0; fd < 3; ++fd) system_call(SYS_dup3, files.fds[fd], fd, 0);
  }
  for (int i = 0; i < files.count; ++i) system_call(SYS_close, files.fds[i]);
  return files.count == wanted;
}

// False: its folder is not there.
bool perform_frame(char* frame) {
  turn = {};
  turn.at = frame;
  turn.name = dollar_vars[0];
  const char* const folder = next_word();
  turn.arguments = next_number();
  char* const arguments = turn.at;
  skip_arguments();
  for (int count = next_number(); count > 0; --count) {
    char* const name = next_word();
    if (char* const value = value_of(name)) set_variable(name, value);
  }
  for (int count = next_number(); count > 0; --count) {
    char* const name = next_word();
    hide(name, value_of(name));
  }
  turn.script = turn.at;
  EOF_Reached = 0;
  read_but_dont_execute = 0;
  zreset();
  bool is_there = true;
  if (*folder != '\0') {
    static char old_folder[] = "OLDPWD";
    turn.before = get_working_directory("cd");
    hide(old_folder, nullptr);
    is_there = change_folder(folder);
  }
  if (is_there) {
    if (turn.arguments > 0) {
      push_dollar_vars();
      turn.at = arguments;
      set_arguments();
    }
    turn.has_ended = run_text(turn.script, "-c", 0);
    clean_up();
    if (turn.has_ended) run_exit_trap();
    if (turn.arguments > 0) {
      pop_dollar_vars();
      dollar_vars[0] = turn.name;
    }
  }
  turn.status_of_script = last_command_exit_value;
  if (turn.before != nullptr) {
    (void)change_folder(turn.before);
    xfree(turn.before);
  }
  show_hidden();
  clean_up();
  last_command_exit_value = turn.status_of_script;
  return is_there;
}

// Where the shell has waited for its first turn, that was no time of its user's.
void begin_time() {
  if (has_begun) return;
  has_begun = true;
  timespec now{};
  if (&shell_start_time != nullptr &&
      system_call(SYS_clock_gettime, CLOCK_REALTIME, address_of(&now)) == 0)
    shell_start_time = now.tv_sec;
}

void perform(const Control::Files& files) {
  const Request request = message.request;
  begin_time();
  const int wanted = request.in_file != 0 ? 4 : 3;
  char* frame = message.frame;
  long mapped = 0;
  if (request.in_file != 0 && files.count == wanted) {
    mapped = system_call(SYS_mmap, 0, word_of(request.bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE,
                         files.fds[3], 0);
    frame = reinterpret_cast<char*>(mapped);
  }
  if (!take_files(files, wanted) || (mapped < 0 && mapped > -4096)) {
    lead_nowhere();
    return control.tell(Tell::no_files, EMFILE, request.number);
  }
  const bool is_there = perform_frame(frame);
  if (mapped != 0) system_call(SYS_munmap, mapped, word_of(request.bytes));
  lead_nowhere();
  control.tell(is_there ? Tell::ended : Tell::no_folder,
               is_there ? last_command_exit_value & 0xff : ENOENT, request.number);
}

// --- Images

void remember() {
  for (int i = 0; i < resources; ++i)
    (void)system_call(SYS_prlimit64, 0, i, 0, address_of(&kept.limits[i]));
  kept.mask = system_call(SYS_umask, 0);
  system_call(SYS_umask, kept.mask);
  if (system_call(SYS_getcwd, address_of(kept.folder), sizeof kept.folder) < 0)
    kept.folder[0] = '\0';
}

// In another process than the one that has written the image: no child of that is one of this, and
// its descriptors are not here.
void go_on() {
  own_pid = static_cast<int>(system_call(SYS_getpid));
  system_call(SYS_close_range, control_fd + 1, ~0U, 0);
  if (control.take(control_fd) < 0) caller::leave(1);
  system_call(SYS_close, control_fd);
  nowhere = static_cast<int>(move_away(0));
  for (int i = 0; i < resources; ++i) {
    if (i != RLIMIT_LOCKS)  // pid 1 has the turns by it
      (void)system_call(SYS_prlimit64, 0, i, address_of(&kept.limits[i]), 0);
  }
  system_call(SYS_umask, kept.mask);
  delete_all_jobs(0);
  last_made_pid = last_asynchronous_pid = -1;
  dollar_dollar_pid = own_pid;
  shell_pgrp = original_pgrp = pipeline_pgrp = static_cast<int>(system_call(SYS_getpgid, 0));
  set_ppid();
  seedrand();
  seedrand32();
  if (kept.folder[0] != '\0' && system_call(SYS_chdir, address_of(kept.folder)) == 0) return;
  if (system_call(SYS_getcwd, address_of(kept.folder), sizeof kept.folder) > 0)
    (void)change_folder(kept.folder);
}

void save(const Control::Files& files) {
  const std::uint64_t number = message.request.number;
  if (files.count != 1) return control.tell(Tell::saved, EMFILE, number);
  constexpr long set_mask = 2;
  std::uint64_t all = ~std::uint64_t{0}, before = 0;
  system_call(SYS_rt_sigprocmask, set_mask, address_of(&all), address_of(&before), sizeof all);
  remember();
  const long state = freeze::freeze(files.fds[0], __rseq_size != 0 ? __rseq_offset : 0);
  if (state == freeze::is_thawed) {
    go_on();
  } else {
    system_call(SYS_close, files.fds[0]);
  }
  system_call(SYS_rt_sigprocmask, set_mask, address_of(&before), 0, sizeof before);
  if (state == freeze::is_thawed) return control.tell(Tell::ready, 0, 0);
  control.tell(Tell::saved, static_cast<std::int32_t>(-state), number);
}

// The builtin that was called is in progress no more, and not there for scripts.
void become_the_loop() {
  clean_up();
  command_execution_string = nullptr;
  startup_state = 0;  // no script's last command takes the place of the shell
  unbind_variable("BASH_EXECUTION_STRING");
  if (bash::Builtin* const own = builtin_address_internal("cloche", 1))
    own->flags = bash::builtin_is_deleted;
  dollar_vars[0] = copy_of("bash");
  lead_nowhere();
}

int serve(bash::Words*) {
  if (!is_known_bash() || !has_all_names()) {
    const Answer answer{Tell::ready, ENOSYS, 0};
    system_call(SYS_sendto, control_fd, address_of(&answer), sizeof answer, MSG_NOSIGNAL);
    return 1;
  }
  own_pid = static_cast<int>(system_call(SYS_getpid));
  nowhere = static_cast<int>(move_away(0));
  if (nowhere < 0 || control.take(control_fd) < 0) return 1;
  system_call(SYS_close, control_fd);
  system_call(SYS_close, library_fd);
  on_exit(at_exit, nullptr);
  __register_atfork(nullptr, nullptr, in_child, nullptr);
  become_the_loop();
  control.tell(Tell::ready, 0, 0);
  for (;;) {
    if (__sigsetjmp(between_scripts, 0) != 0) {
      clean_up();
      lead_nowhere();
      control.tell(Tell::ended, last_command_exit_value & 0xff, message.request.number);
    }
    memcpy(top_level, between_scripts, sizeof between_scripts);
    static Control::Files files;
    control.receive(message, files);
    if (message.request.ask == Ask::turn) {
      perform(files);
    } else {
      save(files);
    }
  }
}

constexpr const char* help[] = {"Runs the scripts of Cloche.", nullptr};

}  // namespace
}  // namespace cloche::shell

extern "C" __attribute__((visibility("default"))) const cloche::shell::bash::Builtin cloche_struct;
const cloche::shell::bash::Builtin cloche_struct{"cloche",
                                                 cloche::shell::serve,
                                                 cloche::shell::bash::builtin_is_enabled,
                                                 cloche::shell::help,
                                                 "cloche",
                                                 nullptr};
