// E0004
use tailor::ErrorCode;

pub fn retry(code: ErrorCode) -> bool {
    match code {
        ErrorCode::ResourceExhausted | ErrorCode::Cancelled => true,
        ErrorCode::InvalidArgument | ErrorCode::NotFound | ErrorCode::FailedPrecondition => false,
        ErrorCode::OutOfRange | ErrorCode::Unimplemented | ErrorCode::Internal | ErrorCode::DataLoss => false,
        ErrorCode::DeadlineExceeded | ErrorCode::Other(_) => false,
        #[cfg(good)]
        _ => false,
    }
}
