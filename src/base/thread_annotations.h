// SPDX-License-Identifier: Apache-2.0
// What a lock guards, said so that a compiler can check it: clang's thread-safety annotations, by
// the names of its documentation. `make tidy` checks them (the rule `locks`); g++ sees nothing.
//
//   Mutex mutex_;
//   std::deque<Job> jobs_ GUARDED_BY(mutex_);
//   void start_next() REQUIRES(mutex_);    // called with it held
//   void add(Job job) EXCLUDES(mutex_);    // takes it
//
// A lambda is a function of its own: what it needs stands after its parameters. What is called
// through a std::function, a pointer or a virtual function that says nothing is not checked, and
// neither are constructors and destructors.
#pragma once

#if defined(__clang__)
#define CLOCHE_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define CLOCHE_THREAD_ANNOTATION(x)
#endif

// Of a class whose objects can be held; `what` is the word for them in a diagnostic.
#define CAPABILITY(what) CLOCHE_THREAD_ANNOTATION(capability(what))
// Of a class whose objects hold something as long as they live.
#define SCOPED_CAPABILITY CLOCHE_THREAD_ANNOTATION(scoped_lockable)

// Of data: touched with the lock held only; what a pointer points to.
#define GUARDED_BY(lock) CLOCHE_THREAD_ANNOTATION(guarded_by(lock))
#define PT_GUARDED_BY(lock) CLOCHE_THREAD_ANNOTATION(pt_guarded_by(lock))

// Of functions.
#define REQUIRES(...) CLOCHE_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define EXCLUDES(...) CLOCHE_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
#define ACQUIRE(...) CLOCHE_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define ACQUIRE_SHARED(...) CLOCHE_THREAD_ANNOTATION(acquire_shared_capability(__VA_ARGS__))
#define RELEASE(...) CLOCHE_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define TRY_ACQUIRE(...) CLOCHE_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))
// Not checked: the reason stands beside it.
#define NO_THREAD_SAFETY_ANALYSIS CLOCHE_THREAD_ANNOTATION(no_thread_safety_analysis)
