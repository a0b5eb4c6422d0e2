use super::stored::without;

#[test]
fn ranges_of_others_are_cut_out() {
    let on = |name: &str, first, last| (Some(name.to_owned()), first, last);
    let cut = |taken: &[(Option<String>, i64, i64)]| -> Vec<(i64, i64)> {
        without(on("p", 100, 199), taken).into_iter().map(|(_, first, last)| (first, last)).collect()
    };
    assert_eq!(cut(&[]), [(100, 199)]);
    assert_eq!(cut(&[on("p", 120, 129)]), [(100, 119), (130, 199)]);
    assert_eq!(cut(&[on("p", 1, 100), on("p", 199, 300)]), [(101, 198)]);
    assert_eq!(cut(&[on("p", 1, 150), on("p", 140, 300)]), []);
    assert_eq!(cut(&[on("q", 1, 300)]), [(100, 199)]);
    assert_eq!(cut(&[on("p", 200, 300)]), [(100, 199)]);
}
