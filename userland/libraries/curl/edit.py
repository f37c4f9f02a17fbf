"""curl says where it is the sandbox that refuses. These lines are under curl's licence."""

from edits import replace

WHY = "the network policy is a cause that curl does not know"
replace("lib/hostip6.c", """  if(error) {
    infof(data, "getaddrinfo(3) failed""", """  if(error) {
    data->state.os_errno = error == EAI_NONAME ? EACCES : 0;
    infof(data, "getaddrinfo(3) failed""", WHY)
replace("lib/url.c", """    failf(data, "Could not resolve host: %s", connhost->dispname);
    return CURLE_COULDNT_RESOLVE_HOST;
""", """    failf(data, "Could not resolve host: %s%s", connhost->dispname,
          data->state.os_errno == EACCES ?
          " (there is no such name, or the network policy of this sandbox does not permit it)" : "");
    return CURLE_COULDNT_RESOLVE_HOST;
""", WHY)
replace("lib/connect.c", """        "%" CURL_FORMAT_TIMEDIFF_T " ms: %s",
        hostname, conn->port,
        Curl_timediff(now, data->progress.t_startsingle),
        curl_easy_strerror(result));
""", """        "%" CURL_FORMAT_TIMEDIFF_T " ms: %s%s",
        hostname, conn->port,
        Curl_timediff(now, data->progress.t_startsingle),
        curl_easy_strerror(result),
        data->state.os_errno == EACCES ? " (the network policy of this sandbox does not permit it)" : "");
""", WHY)
