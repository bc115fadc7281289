// OverdueReminder: reminds of what the user wanted to be reminded of, at the hour that was named.
// input: user_message, hour_changed. output: reminder_due. tier: isolated. energy budget: 0.01
//
// "remind me at 17 to call the dentist" is kept; when 17 o'clock comes, it is emitted and forgotten.

state.reminders ??= [];

if (signal.type === "user_message") {
  const asked = /remind me at (\d{1,2}) to (.{1,200})/i.exec(signal.data?.text ?? "");
  if (asked && Number(asked[1]) < 24) {
    state.reminders.push({ hour: Number(asked[1]), what: asked[2] });
    state.reminders = state.reminders.slice(-20); // the state is small: the oldest make way
  }
}

if (signal.type === "hour_changed") {
  const due = state.reminders.filter((each) => each.hour === signal.data?.hour).slice(0, 10);
  for (const { what } of due) emit("reminder_due", { what });
  state.reminders = state.reminders.filter((each) => !due.includes(each));
}
