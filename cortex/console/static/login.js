"use strict";
const token = location.hash.slice(1);
if (token) {
  history.replaceState(null, "", "/login");
  const form = document.getElementById("login");
  form.token.value = token;
  form.submit();
}
